// The data of the home screen: a summary of runs, the next runs today, and the setup progress.

import type { Schemas } from "../../api/client";
import { describeOutcome, humanize } from "../../kit/format";
import { locale, t } from "../../strings";

export type Run = Schemas["RunSummary"];
export type Automation = Schemas["AutomationSummary"];

const DAY = 24 * 60 * 60 * 1000;
const BAD = new Set(["failed", "timed_out", "dead"]);
export const isBad = (run: Pick<Run, "status">) => BAD.has(run.status);

/** The runs of the last 24 hours. */
export const recent = (runs: Run[], now = Date.now()): Run[] =>
  runs.filter((one) => now - Date.parse(one.created_at) <= DAY);

/** Failures first, then the newest first. */
export const failuresFirst = (runs: Run[]): Run[] =>
  [...runs].sort((one, other) =>
    Number(isBad(other)) - Number(isBad(one)) || other.created_at.localeCompare(one.created_at)
  );

/** A one-line summary: "12 runs: 9 changed something, 3 did not reach their end". */
export function summary(runs: Run[]): string {
  const counts = new Map<string, number>();
  for (const run of runs) {
    const text = run.outcome ? describeOutcome(run.outcome) : humanize(run.status);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const parts = [...counts].sort((one, other) => other[1] - one[1])
    .map(([text, number]) => `${number.toLocaleString(locale)} ${text}`);
  return `${t.counts.runs(runs.length)}: ${parts.join(", ")}`;
}

/** What is due until midnight in the user's time zone, the soonest first. */
export function dueToday(automations: Automation[], now = Date.now()): Automation[] {
  const end = new Date(now);
  end.setHours(24, 0, 0, 0);
  return automations
    .filter((one) => one.state === "active" && one.next_due_at)
    .filter((one) => Date.parse(one.next_due_at!) < end.getTime())
    .sort((one, other) => one.next_due_at!.localeCompare(other.next_due_at!));
}

export type Task = { label: string; text: string; to: string; done: boolean };
export type Known = {
  named: boolean;
  automations: number;
  runs: number;
  looked: boolean;
  connected: boolean;
};

/** The first steps; each is completed automatically. */
export const tasksOf = (known: Known): Task[] => [
  {
    label: t.home.setUpYourAccount,
    text: t.home.aNameAndAPassword,
    to: "/settings/you",
    done: known.named,
  },
  {
    label: t.home.createYourFirstAutomation,
    text: t.home.fromADescriptionOrFrom,
    to: "/new",
    done: known.automations > 0,
  },
  {
    label: t.home.runIt,
    text: t.home.startItOnceManually,
    to: "/automations",
    done: known.runs > 0,
  },
  {
    label: t.home.openTheInbox,
    text: t.home.draftsAndQuestionsWaitThere,
    to: "/inbox",
    done: known.looked,
  },
  {
    label: t.home.connectAModelOrAn,
    text: t.home.forAutomationsThatNeedMore,
    to: "/models",
    done: known.connected,
  },
];

export const isNew = (tasks: Task[]): boolean => tasks.slice(1, 3).some((one) => !one.done);
