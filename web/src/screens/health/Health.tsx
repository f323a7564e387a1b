import { PageHead } from "../../kit/PageHead";

export default function Health() {
  return <PageHead title="Health" />;
}
