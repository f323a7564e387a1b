import { PageHead } from "../../kit/PageHead";

export default function Models() {
  return <PageHead title="Models" />;
}
