// The errors of a rejected request, distributed to their fields.

import { Problem } from "../../api/problem";
import type { Finding } from "../../form";
import { partsOf } from "../../form/pointers";
import type { Edit } from "../../review/edits";

export type DistributedErrors = {
  /** By question id. */
  answers: Record<string, string>;
  /** At fields of the definition. */
  findings: Finding[];
  instruction: string | null;
  note: string | null;
  /** Errors without a field. */
  rest: unknown;
};

export const NOTHING: DistributedErrors = {
  answers: {},
  findings: [],
  instruction: null,
  note: null,
  rest: null,
};

type Message = { pointer: string; detail: string; suggestion?: string | null };
const messageText = ({ detail, suggestion }: Message) =>
  suggestion ? `${detail} ${suggestion}` : detail;

const asFinding = (one: Message, pointer: string): Finding => ({
  pointer,
  detail: one.detail,
  level: "error",
  suggestion: one.suggestion ?? undefined,
});

function byField(found: DistributedErrors, one: Message, sent: Edit[]): boolean {
  const [room, name] = partsOf(one.pointer);
  if (room === "answers" && name) found.answers[name] = messageText(one);
  else if (room === "edits") {
    found.findings.push(asFinding(one, sent[Number(name)]?.pointer ?? ""));
  } else if (room === "instruction") found.instruction = messageText(one);
  else if (room === "coexistence_note") found.note = messageText(one);
  else if (room && room !== "digest" && room !== "revision") {
    found.findings.push(asFinding(one, one.pointer.replace(/^\/definition(?=\/)/, "")));
  } else return false;
  return true;
}

export function distributeErrors(problem: unknown, sent: Edit[]): DistributedErrors {
  if (!(problem instanceof Problem) || !problem.findings.length) {
    return { ...NOTHING, rest: problem };
  }
  const found: DistributedErrors = { ...NOTHING, answers: {}, findings: [] };
  const all = problem.findings.map((one) => byField(found, one, sent));
  return { ...found, rest: all.every(Boolean) && !found.findings.length ? null : problem };
}

/** A concurrent change. */
export const isMoved = (problem: unknown): boolean =>
  problem instanceof Problem && ["proposal_changed", "proposal_saved"].includes(problem.code);
