// Notices above everything else: errors, and concurrent changes.

import { Alert, Stack } from "@mantine/core";
import { Conflict, EditList } from "./Conflict";
import type { Page } from "./useProposalPage";
import { ErrorNotice } from "./ErrorNotice";
import { t } from "../../strings";

export function Notices({ page }: { page: Page }) {
  const { draft, refused, proposal, tell } = page;
  if (!refused.rest && !draft.parked && !draft.lost.length) return null;
  return (
    <Stack gap="md" mb="md">
      {refused.rest ? <ErrorNotice problem={refused.rest} proposal={proposal} /> : null}
      {draft.parked
        ? (
          <Conflict
            parked={draft.parked}
            definition={draft.definition}
            onMine={() => tell({ kind: "mine" })}
            onTheirs={() => tell({ kind: "theirs" })}
          />
        )
        : null}
      {draft.lost.length
        ? (
          <Alert
            color="yellow"
            variant="light"
            title={t.proposal.theseChangesNoLongerApply}
          >
            <EditList edits={draft.lost} definition={draft.definition} />
          </Alert>
        )
        : null}
    </Stack>
  );
}
