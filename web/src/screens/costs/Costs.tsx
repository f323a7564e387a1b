import { PageHead } from "../../kit/PageHead";

export default function Costs() {
  return <PageHead title="Costs" />;
}
