import { PageHead } from "../../kit/PageHead";

export default function Run() {
  return <PageHead title="Run" />;
}
