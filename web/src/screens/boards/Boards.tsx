import { PageHead } from "../../kit/PageHead";

export default function Boards() {
  return <PageHead title="Boards" />;
}
