import { PageHead } from "../../kit/PageHead";

export default function Audit() {
  return <PageHead title="Audit" />;
}
