import { PageHead } from "../../kit/PageHead";

export default function Edit() {
  return <PageHead title="Edit" />;
}
