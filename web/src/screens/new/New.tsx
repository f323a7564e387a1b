import { PageHead } from "../../kit/PageHead";

export default function New() {
  return <PageHead title="New" />;
}
