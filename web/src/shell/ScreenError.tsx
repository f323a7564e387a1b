// The error boundary of a screen; the rest of the page keeps working.

import { Button, Stack } from "@mantine/core";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { ProblemNote } from "../kit/QueryResult";
import { t } from "../strings";

// After a server update, an open page requests files that no longer exist.
const isStale = (error: Error) =>
  /dynamically imported module|Importing a module/.test(error.message);

export function ScreenError({ error, reset }: ErrorComponentProps) {
  const shown = error instanceof Error && isStale(error)
    ? new Error(t.shell.mainspringWasUpdatedReloadThe)
    : error;
  return (
    <Stack>
      <ProblemNote problem={shown} again={reset} />
      <Button variant="default" onClick={() => location.reload()} w="fit-content">
        {t.shell.reloadThePage}
      </Button>
    </Stack>
  );
}
