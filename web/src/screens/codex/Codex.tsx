import { PageHead } from "../../kit/PageHead";

export default function Codex() {
  return <PageHead title="Codex" />;
}
