import { PageHead } from "../../kit/PageHead";

export default function Runs() {
  return <PageHead title="Runs" />;
}
