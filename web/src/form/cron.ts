// Cron expressions: their fire times in the schedule's time zone, and the shortest interval.

import { locale } from "../strings";
type Field = { least: number; most: number; names?: string[] };
const FIELDS: Field[] = [
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  {
    least: 1,
    most: 12,
    names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
  },
  { least: 0, most: 7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];
const KIN: Record<string, string> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};
const FARTHEST_DAYS = 1500;

function numberOf(text: string, field: Field): number | null {
  const named = field.names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return named + (field.least === 1 ? 1 : 0);
  const value = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  return value >= field.least && value <= field.most ? value : null;
}

function valuesOf(text: string, field: Field): Set<number> | null {
  const found = new Set<number>();
  for (const piece of text.split(",")) {
    const [, range, step] = /^([^/]+)(?:\/([0-9]+))?$/.exec(piece) ?? [];
    if (!range) return null;
    const [first, last] = range === "*"
      ? [String(field.least), String(field.most)]
      : range.split("-");
    const from = numberOf(first!, field);
    const to = last === undefined ? (step ? field.most : from) : numberOf(last, field);
    const by = step ? Number(step) : 1;
    if (from === null || to === null || to < from || by < 1) return null;
    for (let one = from; one <= to; one += by) found.add(one);
  }
  return found;
}

export type Cron = { minutes: number[]; hours: number[]; isDay: (day: Date) => boolean };

/** The fields as sets of numbers; null: not a supported expression. */
export function parseCron(line: string): Cron | null {
  const spelt = KIN[line.trim().toLowerCase()] ?? line.trim();
  const parts = spelt.split(/\s+/);
  if (parts.length !== 5) return null;
  const sets = parts.map((one, at) => valuesOf(one, FIELDS[at]!));
  const [minutes, hours, days, months, weekdays] = sets;
  if (!minutes || !hours || !days || !months || !weekdays) return null;
  const eitherDay = !parts[2]!.startsWith("*") && !parts[4]!.startsWith("*");
  const inOrder = (set: Set<number>) => [...set].sort((one, other) => one - other);
  return {
    minutes: inOrder(minutes),
    hours: inOrder(hours),
    isDay: (day) => {
      const date = days.has(day.getUTCDate());
      const weekday = weekdays.has(day.getUTCDay()) ||
        (day.getUTCDay() === 0 && weekdays.has(7));
      return months.has(day.getUTCMonth() + 1) &&
        (eitherDay ? date || weekday : date && weekday);
    },
  };
}

/** The local time of a zone, represented as if it were UTC. */
export function localTime(zone: string, now: Date): Date | null {
  try {
    const parts = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      dateStyle: "short",
      timeStyle: "medium",
    }).formatToParts(now);
    const of = (type: string) => Number(parts.find((one) => one.type === type)?.value);
    return new Date(
      Date.UTC(
        of("year"),
        of("month") - 1,
        of("day"),
        of("hour"),
        of("minute"),
        of("second"),
      ),
    );
  } catch {
    return null;
  }
}

/** The next fire times after a local time of the same zone. */
export function nextFireTimes(cron: Cron, after: Date, most: number): Date[] {
  const found: Date[] = [];
  const day = new Date(Date.UTC(after.getUTCFullYear(), after.getUTCMonth(), after.getUTCDate()));
  for (let at = 0; at < FARTHEST_DAYS && found.length < most; at += 1) {
    if (cron.isDay(day)) {
      for (const hour of cron.hours) {
        for (const minute of cron.minutes) {
          const time = new Date(day.getTime() + (hour * 60 + minute) * 60_000);
          if (time > after && found.length < most) found.push(time);
        }
      }
    }
    day.setUTCDate(day.getUTCDate() + 1);
  }
  return found;
}

/** The shortest interval between two fire times of one day, in minutes. */
export function shortestInterval(cron: Cron): number {
  const { minutes, hours } = cron;
  let least = 24 * 60;
  for (let at = 1; at < minutes.length; at += 1) {
    least = Math.min(least, minutes[at]! - minutes[at - 1]!);
  }
  const touching = hours.some((one, at) => at > 0 && one - hours[at - 1]! === 1);
  const across = 60 - minutes[minutes.length - 1]! + minutes[0]!;
  return touching ? Math.min(least, across) : least;
}

/** A local time as text. */
export function formatLocalTime(time: Date): string {
  return time.toLocaleString(locale, {
    timeZone: "UTC",
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  });
}
