import { PageHead } from "../../kit/PageHead";

export default function Settings() {
  return <PageHead title="Settings" />;
}
