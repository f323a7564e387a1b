import { plural } from "./plural";
import { translated } from "../translated";

export const format = /* @__PURE__ */ translated("format", {
  units: { milliseconds: "ms", seconds: "s", minutes: "min", hours: "h", days: "days" },
  justNow: "just now",
  inAMoment: "in a moment",
  outcomes: {
    effects: "made changes",
    drafts_waiting: "left drafts to approve",
    answer_only: "changed nothing",
    nothing_to_do: "found nothing to do",
    blocked: "had a call denied",
    over_budget: "reached a limit",
    failed: "failed",
  },
  modes: { dry_run: "dry run", verify: "verify mode" },
  everyMinute: "every minute",
  everyMinutes: (minutes: number) => plural(minutes, "every minute", `every ${minutes} minutes`),
  everyHourAt: (minute: string) => `every hour, at minute ${minute}`,
  everyDayAt: (time: string) => `every day at ${time}`,
  weekdaysAt: (time: string) => `Monday to Friday at ${time}`,
  everyWeekdayAt: (weekday: string, time: string) => `every ${weekday} at ${time}`,
  inZone: (schedule: string, zone: string) => `${schedule}, in ${zone}`,
  everyInterval: (interval: string) => `every ${interval}`,
  atSetTimes: "at set times",
  onSchedule: (cron: string) => `on the schedule ${cron}`,
  onWebhook: "when its webhook is called",
  onEvent: (type: string, filtered: boolean) =>
    `on the event ${type}${filtered ? " if it matches the filter" : ""}`,
  onBoardChange: "when a board changes",
  onPage: "when a page is added",
  onChat: (via: string) => `when a message is written in ${via}`,
  manually: "manually",
  noHost: "no host",
  atHosts: (hosts: string) => `at ${hosts}`,
  atMost: (name: string, limit: string) => `${name} at most ${limit}`,
  none: "none",
});
