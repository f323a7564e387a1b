import { PageHead } from "../../kit/PageHead";

export default function Integration() {
  return <PageHead title="Integration" />;
}
