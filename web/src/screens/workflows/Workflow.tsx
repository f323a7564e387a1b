import { PageHead } from "../../kit/PageHead";

export default function Workflow() {
  return <PageHead title="Workflow" />;
}
