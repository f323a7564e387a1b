import { PageHead } from "../../kit/PageHead";

export default function Connect() {
  return <PageHead title="Connect" />;
}
