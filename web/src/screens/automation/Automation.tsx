import { PageHead } from "../../kit/PageHead";

export default function Automation() {
  return <PageHead title="Automation" />;
}
