// A banner while the server is unreachable; the page continues when it is back.

import { Alert, Loader } from "@mantine/core";
import { useLost } from "../api/live";

export function Reconnecting() {
  const lost = useLost();
  if (!lost) return null;
  return (
    <Alert
      role="status"
      color="yellow"
      variant="light"
      icon={<Loader size={16} color="yellow" />}
      title="Reconnecting …"
      className="reconnecting"
      mb="md"
    >
      The server does not answer. What you see may be out of date, and what you have written stays
      here. The page goes on by itself when the server is back.
    </Alert>
  );
}
