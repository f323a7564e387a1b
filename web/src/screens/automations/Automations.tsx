import { PageHead } from "../../kit/PageHead";

export default function Automations() {
  return <PageHead title="Automations" />;
}
