import { PageHead } from "../../kit/PageHead";

export default function Workflows() {
  return <PageHead title="Workflows" />;
}
