// Formatting of times, money, statuses and triggers.

import { now } from "./clock";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A date and time in the user's locale; in a time zone, if one is named. */
export function formatDateTime(text: string, timeZone?: string): string {
  return new Date(text).toLocaleString(undefined, {
    dateStyle: "medium",
    timeStyle: "short",
    timeZone,
  });
}

export function formatDate(text: string): string {
  return new Date(text).toLocaleDateString(undefined, { dateStyle: "medium" });
}

/** A duration: "420 ms", "3.2 s", "2 min 5 s". */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return both(whole, MINUTE, "min", 1, "s");
  if (whole < 2 * DAY) return both(whole, HOUR, "h", MINUTE, "min");
  return both(whole, DAY, "days", HOUR, "h");
}

function both(seconds: number, large: number, name: string, small: number, smallName: string) {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${name}${rest ? ` ${rest} ${smallName}` : ""}`;
}

/** The time between two timestamps, or until now. */
export function formatElapsed(from: string, to?: string | null): string {
  return formatDuration((new Date(to ?? now()).getTime() - new Date(from).getTime()) / 1000);
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** A relative time: "in 3 hours", "2 days ago". */
export function formatRelative(text: string, from = now()): string {
  const seconds = (new Date(text).getTime() - from) / 1000;
  const size = Math.abs(seconds);
  // The clock of the screen may lag a little behind.
  if (size < 45) return seconds < 1 ? "just now" : "in a moment";
  if (size < HOUR) return relative.format(Math.round(seconds / MINUTE), "minute");
  if (size < DAY) return relative.format(Math.round(seconds / HOUR), "hour");
  return relative.format(Math.round(seconds / DAY), "day");
}

/** US dollars, with as many digits as necessary. */
export function formatUsd(amount: number | string | null | undefined): string {
  const value = Number(amount ?? 0);
  if (!value) return "$0";
  return Math.abs(value) >= 1
    ? `$${value.toFixed(2)}`
    : `$${value.toFixed(6).replace(/0{1,4}$/, "")}`;
}

export function formatCount(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export const humanize = (word: string) => word.replaceAll("_", " ");
export const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export type Tone = "good" | "bad" | "busy" | "quiet";

const TONES: Record<string, Tone> = {
  active: "good",
  succeeded: "good",
  confirmed: "good",
  sent: "good",
  connected: "good",
  approved: "good",
  ok: "good",
  ready: "good",
  failed: "bad",
  dead: "bad",
  timed_out: "bad",
  error: "bad",
  broken: "bad",
  rejected: "bad",
  running: "busy",
  pending: "busy",
  waiting: "busy",
  sending: "busy",
  warning: "busy",
  partly_failed: "busy",
  proposed: "busy",
  asks: "busy",
};
export const toneOf = (word: string): Tone => TONES[word] ?? "quiet";

type Ended = { status: string; reason?: string | null };

/** The displayed status of a run: one with failed items is only partly successful. */
export const runStatus = ({ status, reason }: Ended): string =>
  status === "succeeded" && reason === "items_failed" ? "partly_failed" : status;

type Dated = { created_at: string; started_at: string | null; finished_at: string | null };

/** The time of a run in every list: its end, otherwise its start. */
export const runAt = (run: Dated): string => run.finished_at ?? run.started_at ?? run.created_at;

const OUTCOMES: Record<string, string> = {
  effects: "changed something",
  drafts_waiting: "left drafts for a person",
  answer_only: "changed nothing",
  nothing_to_do: "found nothing to do",
  blocked: "was refused a call",
  over_budget: "reached a limit that was set for it",
  failed: "did not reach its end",
};
export const describeOutcome = (outcome: string) => OUTCOMES[outcome] ?? humanize(outcome);

const FINAL = new Set(["succeeded", "failed", "cancelled", "timed_out", "skipped", "dead"]);
export const isOver = (status: string) => FINAL.has(status);

const MODES: Record<string, string> = { dry_run: "dry run", verify: "verify mode" };
export const describeMode = (mode: string) => MODES[mode] ?? null;

const DAYS = [
  "Sunday",
  "Monday",
  "Tuesday",
  "Wednesday",
  "Thursday",
  "Friday",
  "Saturday",
  "Sunday",
];
const isNumber = (part: string | undefined): part is string => !!part && /^[0-9]+$/.test(part);

/** A cron expression as text; null if the text would be longer than the expression. */
export function describeCron(cron: string): string | null {
  const [minute, hour, date, month, weekday] = cron.trim().split(/\s+/);
  if (!minute || !hour || !weekday || date !== "*" || month !== "*") return null;
  const every = /^\*\/([0-9]+)$/.exec(minute);
  if (hour === "*" && weekday === "*") {
    if (minute === "*") return "every minute";
    if (every) return `every ${every[1]} minutes`;
    return isNumber(minute) ? `every hour, at minute ${minute}` : null;
  }
  if (!isNumber(minute) || !isNumber(hour)) return null;
  const time = `at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (weekday === "*") return `every day ${time}`;
  if (weekday === "1-5") return `Monday to Friday ${time}`;
  const named = isNumber(weekday) ? DAYS[Number(weekday)] : undefined;
  return named ? `every ${named} ${time}` : null;
}

export function describeTrigger(
  trigger: { type: string; config?: Record<string, unknown> },
): string {
  const config = trigger.config ?? {};
  switch (trigger.type) {
    case "schedule": {
      if (config.cron === undefined) {
        const every = config.every ? `every ${config.every}` : "at set times";
        return `${every}, in ${config.timezone ?? "UTC"}`;
      }
      const cron = String(config.cron);
      return `${describeCron(cron) ?? `on the schedule ${cron}`}, in ${config.timezone ?? "UTC"}`;
    }
    case "webhook":
      return "when its webhook is called";
    case "event":
      return `at an event ${config.event_type}${config.filters ? " that fits its filter" : ""}`;
    case "board_change":
      return "when a board changes";
    case "page_ingested":
      return "when a page is taken in";
    case "manual":
      return "by hand";
    default:
      return humanize(trigger.type);
  }
}

/** The text of one limit of a grant. */
export function describeLimit(name: string, bound: unknown): string {
  const list = Array.isArray(bound) ? bound.map(String).join(", ") || "none" : null;
  if (name === "hosts") return list === "none" ? "nowhere" : `at ${list ?? String(bound)}`;
  if (name.startsWith("max_")) return `${humanize(name.slice(4))} at most ${String(bound)}`;
  if (list !== null) return `${humanize(name)}: ${list}`;
  return `${humanize(name)} ${typeof bound === "string" ? bound : JSON.stringify(bound)}`;
}

// Characters without a visible glyph: control and format characters, fillers, blank Braille, tags
// and variation selectors. Tabs and line breaks are visible by their effect.
const UNSEEN =
  /\r(?!\n)|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\u{e0000}-\u{e0fff}]/gu;
const JOINERS = "\u200c\u200d";
const isBeyondAscii = (one: string | undefined) => one !== undefined && one > "\u007f";

/**
 * Zero-width joiners inside emoji or scripts that need them; between ASCII letters they only hide
 * text.
 */
function isJoiner(text: string, one: string, at: number): boolean {
  return JOINERS.includes(one) && isBeyondAscii(text[at - 1]) && isBeyondAscii(text[at + 1]);
}

/** Escapes invisible and bidirectional control characters. */
export const escapeInvisible = (text: string) =>
  text.replace(
    UNSEEN,
    (one, at: number) =>
      isJoiner(text, one, at) ? one : `\\u${one.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
