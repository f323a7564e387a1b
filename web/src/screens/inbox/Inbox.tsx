import { PageHead } from "../../kit/PageHead";

export default function Inbox() {
  return <PageHead title="Inbox" />;
}
