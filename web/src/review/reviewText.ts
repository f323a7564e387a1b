// The texts of a review: prices, authorship, findings.

import type { Answer } from "../api/client";
import type { Finding } from "../form";
import { describeLimit, formatUsd } from "../kit/format";
import { locale, t } from "../strings";

export type Proposal = Answer<"get_proposal">;
export type Question = Proposal["questions"][number];
export type Review = Proposal["review"];
export type Forecast = Review["forecast"];
export type ImpactOf = Review["impact"];
export type Grant = ImpactOf["grants"][number];
export type Change = NonNullable<Review["change"]>;
export type Definition = Record<string, unknown>;

type Range = { low: string; usual: string; high: string };

/** A price range; an unknown price is described as such. */
export function describePrice({ low, usual, high }: Range, basis: string): string {
  if (basis === "unknown" && Number(usual) === 0) return t.review.unknown;
  return low === high ? formatUsd(usual) : t.review.about(formatUsd(usual));
}

/** The range next to the estimate; empty if there is none. */
export function describeRange({ low, high }: Range, basis: string): string | null {
  return low === high || basis === "unknown" ? null : t.review.to(formatUsd(low), formatUsd(high));
}

export function describeRuns({ low, usual, high, basis }: Forecast["runs_per_month"]): string {
  if (basis === "unknown") return t.review.unknown;
  if (basis === "by_hand") return t.review.onlyManually;
  const span = low === high
    ? ""
    : t.review.to2(low.toLocaleString(locale), high.toLocaleString(locale));
  return `${t.counts.runs(usual)}${span}`;
}

/** A schedule limits the runs of a month; manual runs are not included. */
export function describeCap({ caps, runs_per_month: often }: Forecast): string {
  const onSchedule = often.basis === "schedule" &&
    Number(caps.usd_per_month) < 30 * Number(caps.usd_per_day);
  const most = t.review.atMostPerDayAnd(formatUsd(caps.usd_per_day), formatUsd(caps.usd_per_month));
  return onSchedule ? t.review.onItsScheduleManualRuns(most) : `${most}.`;
}

export function isFree({ usd_per_run: one }: Forecast): boolean {
  return one.basis === "free";
}

/** Who made it, in how many rounds and at what cost, and who reviewed it. */
export function describeAuthor({ made_by: made, review }: Proposal): string {
  const usual = made.by === "rules" ? t.review.noModelWasUsed : t.review.createdBy(made.model);
  const text = [made.note || usual];
  if (made.by === "model" && made.rounds > 1) text.push(t.review.attempts(made.rounds));
  if (Number(made.cost_usd) > 0) text.push(t.review.creatingItCost(formatUsd(made.cost_usd)));
  if (review.reviewed_by?.note) text.push(review.reviewed_by.note);
  return text.join(" ");
}

/** The limits of a grant in one line. */
export const describeLimits = (params: object): string =>
  Object.entries(params).map(([name, bound]) => describeLimit(name, bound)).join("; ");

const REACH = { send: 0, keep: 1, read: 2 } as const;

/** Calls that leave the installation come first. */
export const byReach = (grants: Grant[]): Grant[] =>
  [...grants].sort((one, other) => REACH[one.effect] - REACH[other.effect]);

export type ReviewNote = Finding & { byModel?: boolean };
type ReviewedProposal = {
  problems?: { pointer: string; detail: string; suggestion?: string | null }[];
  review: Pick<Review, "flags">;
};

/** Errors and warnings, the most severe first. */
export function reviewNotes({ problems = [], review }: ReviewedProposal): ReviewNote[] {
  const flags = (review.flags ?? []).map((one): ReviewNote => ({
    pointer: one.pointer,
    detail: one.text,
    level: one.level,
    suggestion: one.suggestion,
    byModel: one.by === "model",
  }));
  return [
    ...problems.map(({ pointer, detail, suggestion }): ReviewNote => ({
      pointer,
      detail,
      level: "error",
      suggestion: suggestion ?? undefined,
    })),
    ...flags.filter((one) => one.level === "warning"),
    ...flags.filter((one) => one.level !== "warning"),
  ];
}

const HOW: Record<string, string> = {
  strict: t.review.writesTheSameDatasetOf,
  board: t.review.writesToTheSameBoard,
  alike: t.review.seemsToDoSomethingSimilar,
};
const BY: Record<string, string> = {
  words: t.review.byItsWording,
  meaning: t.review.byItsMeaning,
};

/** How another automation overlaps with this one. */
export function describeOverlap(how: string, overlaps: Review["overlaps"]): string {
  return `${HOW[how] ?? how}${how === "alike" ? BY[overlaps.similarity_by] ?? "" : ""}`;
}

/** Whether the server requires a reason to save it. */
export const isStrict = (overlaps: Review["overlaps"]): boolean =>
  (overlaps?.matches ?? []).some((one) => one.how === "strict");

const LINE = /^(\d+)\.\s+(.*)$/s;

export type Explanation = { steps: string[]; rest: string[] };

/**
 * The sentences of a review: per step, and for the whole. The first one repeats the summary, which
 * is shown above.
 */
export function explain({ summary, explained }: Review): Explanation {
  const all = explained ?? [];
  const lines = all[0] === summary ? all.slice(1) : all;
  const found: Explanation = { steps: [], rest: [] };
  for (const line of lines) {
    const step = LINE.exec(line);
    if (step?.[2]) found.steps.push(step[2]);
    else found.rest.push(line);
  }
  return found;
}

/** What a grant does: the server derives its effect from the steps that use it. */
export function describeEffect(grant: { effect?: string; waits_for_person?: boolean }): string {
  if (grant.waits_for_person) return t.review.asksForApprovalEachTime;
  const texts: Record<string, string> = {
    send: t.review.sendsOutside,
    keep: t.review.changesDataInThisWorkspace,
    read: t.review.onlyReads,
  };
  return texts[grant.effect ?? ""] ?? "";
}
