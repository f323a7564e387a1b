// Errors of the API (RFC 9457 problem documents) and their text for people.

import type { components } from "./schema";
import { t } from "../strings";

export type ProblemDocument = components["schemas"]["Problem"];
export type Finding = components["schemas"]["Finding"];

/** Thrown by every failed request. */
export class Problem extends Error {
  readonly status: number;
  readonly document: ProblemDocument | null;

  constructor(status: number, problem: ProblemDocument | null) {
    super(problem?.detail ?? t.api.theServerDoesNotRespond);
    this.status = status;
    this.document = problem;
  }

  get code(): string {
    return this.document?.code ?? "no_answer";
  }

  get findings(): Finding[] {
    return this.document?.errors ?? [];
  }
}

/** One or two sentences: what is wrong and how to fix it. */
export function sentence(problem: unknown): string {
  if (!(problem instanceof Problem)) {
    return problem instanceof Error ? problem.message : t.api.somethingWentWrong;
  }
  const { document: details } = problem;
  if (!details) return problem.message;
  const only = problem.findings.length === 1 ? problem.findings[0] : undefined;
  const text = only ? only.detail : details.detail;
  if (details.retry_after) return t.api.tryAgainInSeconds(text, Math.ceil(details.retry_after));
  const advice = only?.suggestion ?? details.suggestion;
  return advice ? `${text} ${advice}` : text;
}

/** The messages by JSON pointer. */
export function byPointer(findings: Finding[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { pointer, detail, suggestion } of findings) {
    found[pointer] ??= suggestion ? `${detail} ${suggestion}` : detail;
  }
  return found;
}
