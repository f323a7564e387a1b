import { PageHead } from "../../kit/PageHead";

export default function Secrets() {
  return <PageHead title="Secrets" />;
}
