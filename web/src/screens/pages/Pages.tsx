import { PageHead } from "../../kit/PageHead";

export default function Pages() {
  return <PageHead title="Pages" />;
}
