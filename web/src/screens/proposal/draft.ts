// Unsent input on the screen of a proposal. It survives a reload, and when somebody else continues
// the proposal it is set aside, never lost: both are offered.

import { asRequest, type Edit, editsBetween, withEdits } from "../../review/edits";
import type { Definition, Proposal } from "../../review/reviewText";
import type { GivenAnswer, GivenAnswers } from "./answers";

export type Draft = {
  /** The displayed proposal. */
  held: Proposal;
  definition: Definition;
  givens: GivenAnswers;
  instruction: string;
  /** Edits of an earlier revision, until the conflict is resolved. */
  parked: Edit[] | null;
  /** Edits whose pointer no longer exists. */
  lost: Edit[];
};

export type DraftAction =
  | { kind: "definition"; definition: Definition }
  | { kind: "given"; id: string; given: GivenAnswer }
  | { kind: "instruction"; text: string }
  | { kind: "arrived"; proposal: Proposal }
  | { kind: "sent"; proposal: Proposal; withWords: boolean }
  | { kind: "mine" }
  | { kind: "theirs" };

export const definitionOf = (proposal: Proposal) => proposal.definition as Definition;

const adopted = (before: Draft, held: Proposal): Draft => ({
  ...before,
  held,
  definition: definitionOf(held),
  parked: null,
  lost: [],
});

function withProposal(before: Draft, proposal: Proposal): Draft {
  const { held } = before;
  if (proposal.revision < held.revision) return before;
  if (proposal.revision === held.revision) {
    return proposal.status === held.status ? before : { ...before, held: proposal };
  }
  const mine = before.parked ?? editsBetween(definitionOf(held), before.definition);
  return { ...adopted(before, proposal), parked: mine.length ? mine : null };
}

function mergeEdits(before: Draft): Draft {
  const { made, lost } = withEdits(definitionOf(before.held), before.parked ?? []);
  return { ...before, definition: made, parked: null, lost };
}

/** The reducer: the next state after an edit, a request or a response. */
export function reduceDraft(before: Draft, answer: DraftAction): Draft {
  switch (answer.kind) {
    case "definition":
      return { ...before, definition: answer.definition };
    case "given":
      return { ...before, givens: { ...before.givens, [answer.id]: answer.given } };
    case "instruction":
      return { ...before, instruction: answer.text };
    case "arrived":
      return withProposal(before, answer.proposal);
    case "sent": {
      const open = new Set(answer.proposal.questions.map((one) => one.id));
      const givens = Object.fromEntries(
        Object.entries(before.givens).filter(([id]) => open.has(id)),
      );
      const instruction = answer.withWords ? "" : before.instruction;
      return { ...adopted(before, answer.proposal), givens, instruction };
    }
    case "mine":
      return mergeEdits(before);
    case "theirs":
      return { ...before, parked: null, lost: [] };
  }
}

type StoredDraft = { revision: number; edits: Edit[]; givens: GivenAnswers; instruction: string };

/** The state as stored in this tab; null: nothing to store. */
export function toStored(draft: Draft, edits: Edit[]): StoredDraft | null {
  const { held, givens, instruction, parked } = draft;
  if (!edits.length && !parked && !instruction && !Object.keys(givens).length) return null;
  // Edits that were set aside belong to no current revision.
  return { revision: parked ? -1 : held.revision, edits: parked ?? edits, givens, instruction };
}

/** The draft of a proposal, restored from storage. */
export function restoreDraft(proposal: Proposal, kept: StoredDraft | null): Draft {
  const fresh: Draft = {
    held: proposal,
    definition: definitionOf(proposal),
    givens: kept?.givens ?? {},
    instruction: kept?.instruction ?? "",
    parked: null,
    lost: [],
  };
  if (!kept?.edits.length || proposal.status === "saved") return fresh;
  const parked = { ...fresh, parked: kept.edits };
  return kept.revision === proposal.revision ? mergeEdits(parked) : parked;
}

export const requestOf = (draft: Draft, edits: Edit[]) => ({
  revision: draft.held.revision,
  ...asRequest(edits, draft.definition),
});
