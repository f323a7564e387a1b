import type { Strings } from "..";
import { plural } from "./plural";

export const format: Strings["format"] = {
  units: { milliseconds: "ms", seconds: "s", minutes: "min", hours: "h", days: "Tage" },
  justNow: "gerade eben",
  inAMoment: "gleich",
  outcomes: {
    effects: "mit Änderungen",
    drafts_waiting: "mit Entwürfen zur Freigabe",
    answer_only: "ohne Änderungen",
    nothing_to_do: "nichts zu tun",
    blocked: "mit verweigertem Aufruf",
    over_budget: "Limit erreicht",
    failed: "fehlgeschlagen",
  },
  modes: { dry_run: "Probelauf", verify: "Prüfmodus" },
  everyMinute: "jede Minute",
  everyMinutes: (minutes) => plural(minutes, "jede Minute", `alle ${minutes} Minuten`),
  everyHourAt: (minute) => `jede Stunde, zur Minute ${minute}`,
  everyDayAt: (time) => `jeden Tag um ${time}`,
  weekdaysAt: (time) => `Montag bis Freitag um ${time}`,
  everyWeekdayAt: (weekday, time) => `jeden ${weekday} um ${time}`,
  inZone: (schedule, zone) => `${schedule}, in ${zone}`,
  everyInterval: (interval) => `alle ${interval}`,
  atSetTimes: "zu festen Zeiten",
  onSchedule: (cron) => `nach dem Zeitplan ${cron}`,
  onWebhook: "wenn der Webhook aufgerufen wird",
  onEvent: (type, filtered) =>
    `beim Ereignis ${type}${filtered ? ", wenn es zum Filter passt" : ""}`,
  onBoardChange: "wenn sich ein Board ändert",
  onPage: "wenn eine Seite hinzukommt",
  onChat: (via: string) => `wenn in ${via} eine Nachricht geschrieben wird`,
  manually: "manuell",
  noHost: "kein Host",
  atHosts: (hosts) => `bei ${hosts}`,
  atMost: (name, limit) => `${name} höchstens ${limit}`,
  none: "keine",
};
