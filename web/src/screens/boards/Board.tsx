import { PageHead } from "../../kit/PageHead";

export default function Board() {
  return <PageHead title="Board" />;
}
