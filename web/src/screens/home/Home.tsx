import { PageHead } from "../../kit/PageHead";

export default function Home() {
  return <PageHead title="Home" />;
}
