import { PageHead } from "../../kit/PageHead";

export default function Integrations() {
  return <PageHead title="Integrations" />;
}
