// The state and the actions of the proposal screen, for all of its parts.

import { useMemo, useState } from "react";
import { api } from "../../api/client";
import { useHasRole } from "../../api/session";
import type { Finding } from "../../form";
import { type Definition, isStrict, type Proposal, reviewNotes } from "../../review/reviewText";
import type { DistributedErrors } from "./errors";
import { describeBlocker } from "./saveBlockers";
import { useDraft } from "./useDraft";
import { useContinue } from "./useContinue";
import { t } from "../../strings";

/** The automation that it changes, as of the proposal. */
function useBase({ automation_id: id, base_version: version }: Proposal): Definition | undefined {
  const { data } = api.useQuery("get", "/api/v1/automations/{automation_id}/versions/{version}", {
    params: { path: { automation_id: id ?? "", version: version ?? 0 } },
  }, { enabled: !!id && !!version });
  return data?.definition;
}

/** Warnings, errors, open questions and rejections, each for its field. */
function useFindings(proposal: Proposal, refused: DistributedErrors): Finding[] {
  return useMemo(() => [
    ...refused.findings,
    ...reviewNotes(proposal),
    ...proposal.questions.map((one): Finding => ({
      pointer: one.pointer,
      detail: t.proposal.seeTheQuestionAbove(one.question),
      level: "note",
    })),
  ], [proposal, refused]);
}

/** What a person has to confirm besides saving. */
function useConditions(proposal: Proposal, overlaps: boolean) {
  const [agreedTo, setAgreedTo] = useState<string | null>(null);
  const [note, setNote] = useState("");
  return {
    mustAgree: (proposal.review.change?.widened ?? []).length > 0,
    // Consent covers what was read; another digest must be read again.
    agreed: agreedTo === proposal.digest,
    setAgreed: (yes: boolean) => setAgreedTo(yes ? proposal.digest : null),
    needsNote: overlaps || isStrict(proposal.review.overlaps),
    note,
    setNote,
  };
}

export function useProposalPage(latest: Proposal) {
  const { draft, tell, edits } = useDraft(latest);
  const proposal = draft.held;
  const going = useContinue(draft, edits, tell);
  const conditions = useConditions(proposal, going.overlaps);
  const [broken, setBroken] = useState<string | null>(null);
  const may = useHasRole("editor");
  const base = useBase(proposal);
  const findings = useFindings(proposal, going.refused);
  const parked = draft.parked !== null;
  const changed = edits.length;
  const blocker = describeBlocker({ proposal, changed, broken, parked, ...conditions });
  const canSave = may && !going.busy && !blocker && proposal.status === "ready";
  const canReview = may && !going.busy && changed > 0 && !broken && !parked;
  const save = () => void going.saveIt(conditions.needsNote ? conditions.note.trim() : undefined);
  return {
    ...{ draft, tell, edits, proposal, may, base, findings, parked, changed, blocker },
    ...{ broken, setBroken, canSave, canReview, save, conditions },
    ...going,
  };
}

export type Page = ReturnType<typeof useProposalPage>;
