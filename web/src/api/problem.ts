// What did not work, as the server tells it, and as a sentence for a person.

import type { components } from "./schema";

export type Told = components["schemas"]["Problem"];
export type Finding = components["schemas"]["Finding"];

/** Every request that did not work throws this. */
export class Problem extends Error {
  readonly status: number;
  readonly told: Told | null;

  constructor(status: number, problem: Told | null) {
    super(problem?.detail ?? "The server does not answer. Try again in a moment.");
    this.status = status;
    this.told = problem;
  }

  get code(): string {
    return this.told?.code ?? "no_answer";
  }

  get findings(): Finding[] {
    return this.told?.errors ?? [];
  }
}

/** One sentence, or two: what is wrong, and what to do. */
export function sentence(problem: unknown): string {
  if (!(problem instanceof Problem)) {
    return problem instanceof Error ? problem.message : "Something went wrong.";
  }
  const { told: details } = problem;
  if (!details) return problem.message;
  const only = problem.findings.length === 1 ? problem.findings[0] : undefined;
  const text = only ? only.detail : details.detail;
  if (details.retry_after) return `${text} Try again in ${Math.ceil(details.retry_after)} seconds.`;
  const advice = only?.suggestion ?? details.suggestion;
  return advice ? `${text} ${advice}` : text;
}

/** What is wrong at each place, by its JSON pointer. */
export function byPointer(findings: Finding[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { pointer, detail, suggestion } of findings) {
    found[pointer] ??= suggestion ? `${detail} ${suggestion}` : detail;
  }
  return found;
}
