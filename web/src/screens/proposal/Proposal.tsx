import { PageHead } from "../../kit/PageHead";

export default function Proposal() {
  return <PageHead title="Proposal" />;
}
