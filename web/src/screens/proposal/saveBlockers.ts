// What blocks saving, in one line; empty: it can be saved.

import type { Proposal } from "../../review/reviewText";
import { t } from "../../strings";

const ENOUGH_OF_A_REASON = 10;

type SaveState = {
  proposal: Proposal;
  changed: number;
  broken: string | null;
  parked: boolean;
  mustAgree: boolean;
  agreed: boolean;
  needsNote: boolean;
  note: string;
};

export function describeBlocker(of: SaveState): string | null {
  const { proposal, changed } = of;
  if (of.broken) return of.broken;
  if (of.parked) return t.proposal.chooseFirstWhichChangesTo;
  if (changed) {
    return t.proposal.changeIsNotReviewedYet(changed);
  }
  if (proposal.questions.length) {
    return t.proposal.answerQuestionFirst(proposal.questions.length);
  }
  const [problem] = proposal.problems;
  if (problem) return t.proposal.itHasAnError(problem.detail);
  if (of.needsNote && of.note.trim().length < ENOUGH_OF_A_REASON) {
    return t.proposal.explainWhyItIsNeeded;
  }
  if (of.mustAgree && !of.agreed) {
    return t.proposal.itAsksForNewPermissions;
  }
  return null;
}

/** What saving does. */
export const describeSaving = ({ automation_id: changes }: Proposal): string =>
  changes ? t.proposal.whenYouSaveItIt : t.proposal.whenYouSaveItItStays;
