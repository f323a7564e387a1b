// The draft of one proposal, stored in this tab until it is sent.

import { useDeferredValue, useEffect, useMemo, useReducer } from "react";
import { editsBetween } from "../../review/edits";
import { openStorage } from "../../kit/unsentInput";
import type { Proposal } from "../../review/reviewText";
import { definitionOf, reduceDraft, restoreDraft, toStored } from "./draft";

const placeOf = (id: string) => openStorage(`proposal.${id}`);

function readStored(id: string) {
  try {
    return JSON.parse(placeOf(id).kept() ?? "null");
  } catch {
    return null;
  }
}

export function forgetDraft(id: string): void {
  placeOf(id).forget();
}

export function useDraft(latest: Proposal) {
  const id = latest.proposal_id;
  const [draft, tell] = useReducer(
    reduceDraft,
    latest,
    (proposal) => restoreDraft(proposal, readStored(id)),
  );
  useEffect(() => tell({ kind: "arrived", proposal: latest }), [latest]);
  // The diff is deferred, so that it never delays typing.
  const definition = useDeferredValue(draft.definition);
  const edits = useMemo(
    () => editsBetween(definitionOf(draft.held), definition),
    [draft.held, definition],
  );
  useEffect(() => {
    const kept = draft.held.status === "saved" ? null : toStored(draft, edits);
    if (kept) placeOf(id).keep(JSON.stringify(kept));
    else forgetDraft(id);
  }, [draft, edits, id]);
  return { draft, tell, edits };
}
