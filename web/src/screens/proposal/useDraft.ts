// The draft of one proposal, stored in this tab until it is sent.

import { useDeferredValue, useEffect, useMemo, useReducer } from "react";
import { editsBetween } from "../../review/edits";
import { keeping } from "../../kit/unsentInput";
import type { Proposal } from "../../review/reviewText";
import { begun, definitionOf, keptOf, next } from "./draft";

const placeOf = (id: string) => keeping(`proposal.${id}`);

function keptIn(id: string) {
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
  const [draft, tell] = useReducer(next, latest, (proposal) => begun(proposal, keptIn(id)));
  useEffect(() => tell({ kind: "arrived", proposal: latest }), [latest]);
  // The diff is deferred, so that it never delays typing.
  const definition = useDeferredValue(draft.definition);
  const edits = useMemo(
    () => editsBetween(definitionOf(draft.held), definition),
    [draft.held, definition],
  );
  useEffect(() => {
    const kept = draft.held.status === "saved" ? null : keptOf(draft, edits);
    if (kept) placeOf(id).keep(JSON.stringify(kept));
    else forgetDraft(id);
  }, [draft, edits, id]);
  return { draft, tell, edits };
}
