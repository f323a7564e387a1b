// What blocks saving, in one line; empty: it can be saved.

import { formatCount } from "../../kit/format";
import type { Proposal } from "../../review/reviewText";

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
  if (of.parked) return "Say first which changes are to count.";
  if (changed) {
    return `${formatCount(changed, "change")} of yours ${
      changed === 1 ? "is" : "are"
    } not reviewed yet.`;
  }
  if (proposal.questions.length) {
    return `Answer ${formatCount(proposal.questions.length, "question")} first.`;
  }
  const [problem] = proposal.problems;
  if (problem) return `It is not right yet: ${problem.detail}`;
  if (of.needsNote && of.note.trim().length < ENOUGH_OF_A_REASON) {
    return "Say why it may live beside the others.";
  }
  if (of.mustAgree && !of.agreed) {
    return "It may do more than before: read it, and say that it may.";
  }
  return null;
}

/** What saving does. */
export const describeSaving = ({ automation_id: changes }: Proposal): string =>
  changes
    ? "Once you save it, it becomes the newest version of the automation, and the one in force."
    : "Once you save it, it stays paused until somebody activates it.";
