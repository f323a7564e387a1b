import { PageHead } from "../../kit/PageHead";

export default function Recipe() {
  return <PageHead title="Recipe" />;
}
