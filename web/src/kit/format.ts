// Formatting of times, money, statuses and triggers.

import { locale, t } from "../strings";
import { now } from "./clock";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A date and time in the user's locale; in a time zone, if one is named. */
export function formatDateTime(text: string, timeZone?: string): string {
  return new Date(text).toLocaleString(locale, {
    dateStyle: "medium",
    timeStyle: "short",
    timeZone,
  });
}

export function formatDate(text: string): string {
  return new Date(text).toLocaleDateString(locale, { dateStyle: "medium" });
}

/** A duration: "420 ms", "3.2 s", "2 min 5 s". */
export function formatDuration(seconds: number): string {
  const { units } = t.format;
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ${units.milliseconds}`;
  if (seconds < 10) return `${formatFixed(seconds, 1)} ${units.seconds}`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} ${units.seconds}`;
  if (whole < HOUR) return both(whole, MINUTE, units.minutes, 1, units.seconds);
  if (whole < 2 * DAY) return both(whole, HOUR, units.hours, MINUTE, units.minutes);
  return both(whole, DAY, units.days, HOUR, units.hours);
}

function both(seconds: number, large: number, name: string, small: number, smallName: string) {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${name}${rest ? ` ${rest} ${smallName}` : ""}`;
}

/** A number in the chosen language: "1,200" in English, "1.200" in German. */
export const formatNumber = (value: number, options?: Intl.NumberFormatOptions): string =>
  value.toLocaleString(locale, options);

/** A number with a fixed count of decimals. */
export const formatFixed = (value: number, digits: number): string =>
  formatNumber(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** The time between two timestamps, or until now. */
export function formatElapsed(from: string, to?: string | null): string {
  return formatDuration((new Date(to ?? now()).getTime() - new Date(from).getTime()) / 1000);
}

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });

/** A relative time: "in 3 hours", "2 days ago". */
export function formatRelative(text: string, from = now()): string {
  const seconds = (new Date(text).getTime() - from) / 1000;
  const size = Math.abs(seconds);
  // The clock of the screen may lag a little behind.
  if (size < 45) return seconds < 1 ? t.format.justNow : t.format.inAMoment;
  if (size < HOUR) return relative.format(Math.round(seconds / MINUTE), "minute");
  if (size < DAY) return relative.format(Math.round(seconds / HOUR), "hour");
  return relative.format(Math.round(seconds / DAY), "day");
}

/** US dollars: "$0.10", with more digits for an amount below a cent. */
export function formatUsd(amount: number | string | null | undefined): string {
  const value = Number(amount ?? 0);
  const small = value !== 0 && Math.abs(value) < 1;
  return value.toLocaleString(locale, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: value === 0 ? 0 : 2,
    maximumFractionDigits: small ? 6 : 2,
  });
}

/** The name of a status, an outcome or a kind that the server sends, such as "timed_out". */
export const humanize = (word: string) =>
  Object.hasOwn(t.words, word) ? t.words[word as keyof typeof t.words] : word.replaceAll("_", " ");
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

const OUTCOMES: Record<string, string> = t.format.outcomes;
export const describeOutcome = (outcome: string) => OUTCOMES[outcome] ?? humanize(outcome);

const FINAL = new Set(["succeeded", "failed", "cancelled", "timed_out", "skipped", "dead"]);
export const isOver = (status: string) => FINAL.has(status);

const MODES: Record<string, string> = t.format.modes;
export const describeMode = (mode: string) => MODES[mode] ?? null;

const isNumber = (part: string | undefined): part is string => !!part && /^[0-9]+$/.test(part);

/** A cron expression as text; null if the text would be longer than the expression. */
export function describeCron(cron: string): string | null {
  const [minute, hour, date, month, weekday] = cron.trim().split(/\s+/);
  if (!minute || !hour || !weekday || date !== "*" || month !== "*") return null;
  const every = /^\*\/([0-9]+)$/.exec(minute);
  if (hour === "*" && weekday === "*") {
    if (minute === "*") return t.format.everyMinute;
    if (every) return t.format.everyMinutes(Number(every[1]));
    return isNumber(minute) ? t.format.everyHourAt(minute) : null;
  }
  if (!isNumber(minute) || !isNumber(hour)) return null;
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (weekday === "*") return t.format.everyDayAt(time);
  if (weekday === "1-5") return t.format.weekdaysAt(time);
  return isNumber(weekday) && Number(weekday) <= 7
    ? t.format.everyWeekdayAt(weekdayName(Number(weekday)), time)
    : null;
}

/** The name of a day of the week; 0 and 7 are Sunday. */
const weekdayName = (day: number): string =>
  // 4 January 1970 was a Sunday.
  new Date(Date.UTC(1970, 0, 4 + day)).toLocaleDateString(locale, {
    weekday: "long",
    timeZone: "UTC",
  });

export function describeTrigger(
  trigger: { type: string; config?: Record<string, unknown> },
): string {
  const config = trigger.config ?? {};
  switch (trigger.type) {
    case "schedule": {
      const zone = String(config.timezone ?? "UTC");
      if (config.cron === undefined) {
        const every = config.every
          ? t.format.everyInterval(String(config.every))
          : t.format.atSetTimes;
        return t.format.inZone(every, zone);
      }
      const cron = String(config.cron);
      return t.format.inZone(describeCron(cron) ?? t.format.onSchedule(cron), zone);
    }
    case "webhook":
      return t.format.onWebhook;
    case "form":
      return config.access === "members" ? t.format.onMemberForm : t.format.onPublicForm;
    case "event":
      return t.format.onEvent(String(config.event_type), Boolean(config.filters));
    case "board_change":
      return t.format.onBoardChange;
    case "page_ingested":
      return t.format.onPage;
    case "chat_message":
      return t.format.onChat(humanize(String(config.via)));
    case "manual":
      return t.format.manually;
    default:
      return humanize(trigger.type);
  }
}

/** The text of one limit of a grant. */
export function describeLimit(name: string, bound: unknown): string {
  const list = Array.isArray(bound) ? bound.map(String) : null;
  if (name === "hosts") {
    return list?.length === 0
      ? t.format.noHost
      : t.format.atHosts(list?.join(", ") ?? String(bound));
  }
  if (name.startsWith("max_")) return t.format.atMost(humanize(name.slice(4)), String(bound));
  if (list !== null) return `${humanize(name)}: ${list.join(", ") || t.format.none}`;
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
