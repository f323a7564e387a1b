// A banner while the server is unreachable; the page continues when it is back.

import { Alert, Loader } from "@mantine/core";
import { useLost } from "../api/live";
import { t } from "../strings";

export function Reconnecting() {
  const lost = useLost();
  if (!lost) return null;
  return (
    <Alert
      role="status"
      color="yellow"
      variant="light"
      icon={<Loader size={16} color="yellow" />}
      title={t.shell.reconnecting}
      className="reconnecting"
      mb="md"
    >
      {t.shell.theServerDoesNotRespond}
    </Alert>
  );
}
