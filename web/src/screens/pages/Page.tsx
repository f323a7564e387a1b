import { PageHead } from "../../kit/PageHead";

export default function Page() {
  return <PageHead title="Page" />;
}
