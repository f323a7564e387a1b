import { PageHead } from "../../kit/PageHead";

export default function Consent() {
  return <PageHead title="Consent" />;
}
