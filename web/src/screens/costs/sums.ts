// Cost sums: ranges of UTC days, days without requests, shares and totals.

import type { Answer } from "../../api/client";
import { t } from "../../strings";

export type Usage = Answer<"get_usage">;
export type Sum = Usage["total"];
export type Day = Usage["days"][number];

const DAY = 24 * 60 * 60 * 1000;
const VALID = /^\d{4}-\d{2}-\d{2}$/;
const isDay = (text: string | undefined): text is string =>
  !!text && VALID.test(text) && !Number.isNaN(Date.parse(text));

export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

export const RANGES = [
  { value: "today", label: t.costs.today },
  { value: "7", label: t.costs.n7Days },
  { value: "30", label: t.costs.n30Days },
  { value: "month", label: t.costs.thisMonth },
  { value: "90", label: t.costs.n90Days },
] as const;

/** The first and the last day of a named range. */
export function rangeOf(name: string, now = Date.now()): { from: string; to: string } {
  const to = dayOf(now);
  if (name === "today") return { from: to, to };
  if (name === "month") return { from: `${to.slice(0, 8)}01`, to };
  return { from: dayOf(now - (Number(name) - 1) * DAY), to };
}

/** The range that a URL names: two days, a preset, or the last thirty days. */
export function rangeIn(
  address: { from?: string; to?: string; range?: string },
  now = Date.now(),
): { from: string; to: string } {
  if (isDay(address.from) && isDay(address.to) && address.from <= address.to) {
    return { from: address.from, to: address.to };
  }
  const known = RANGES.some((one) => one.value === address.range);
  return rangeOf(known ? address.range! : "30", now);
}

/** One bar per day, including days without requests. */
export function everyDay(
  days: Day[],
  from: string,
  to: string,
): { day: string; usd: number; asks: number }[] {
  const found = new Map(days.map((one) => [one.day, one]));
  const all: { day: string; usd: number; asks: number }[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) {
    const day = dayOf(at);
    const one = found.get(day);
    all.push({ day, usd: one?.cost_usd ?? 0, asks: one?.asks ?? 0 });
  }
  return all;
}

/** Today's cost, if the sums include today. */
export const spentOn = (days: Day[], day: string): number =>
  days.find((one) => one.day === day)?.cost_usd ?? 0;

/** The used percentage of a cap, at most 100. */
export const shareOf = (part: number, whole: number): number =>
  whole > 0 ? Math.min(100, Math.round((part / whole) * 100)) : part > 0 ? 100 : 0;

export const tokensOf = (sum: Pick<Sum, "input_tokens" | "output_tokens">): number =>
  sum.input_tokens + sum.output_tokens;

export type Line = {
  key: string;
  label: string;
  sum: Sum;
  only: Record<string, string | undefined>;
};
export type By = "automation" | "model" | "day" | "caller";

/** One line per group, the most expensive first; days, the newest first. */
export function linesOf(usage: Usage, by: By): Line[] {
  const dearest = (one: Line, other: Line) =>
    other.sum.cost_usd - one.sum.cost_usd || other.sum.asks - one.sum.asks;
  if (by === "day") {
    return usage.days.map((one) => ({
      key: one.day,
      label: one.day,
      sum: one,
      only: { from: one.day, to: one.day, range: undefined },
    })).sort((one, other) => other.key.localeCompare(one.key));
  }
  if (by === "model") {
    return usage.models.map((one) => ({
      key: `${one.provider}/${one.model}`,
      label: `${one.model} (${one.provider})`,
      sum: one,
      only: { model: one.model },
    })).sort(dearest);
  }
  if (by === "caller") {
    return usage.callers.map((one) => ({
      key: one.caller,
      label: one.caller,
      sum: one,
      only: { caller: one.caller },
    })).sort(dearest);
  }
  return usage.automations.map((one) => ({
    key: one.automation_id ?? "none",
    label: one.name ?? (one.automation_id ? t.costs.deletedAutomation : t.costs.noAutomation),
    sum: one,
    only: one.automation_id ? { automation: one.automation_id } : {},
  })).sort(dearest);
}
