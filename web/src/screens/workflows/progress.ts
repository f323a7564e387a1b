// The progress of a workflow and the distance of its deadlines: pure functions.

import type { Answer, Schemas } from "../../api/client";
import { locale, t } from "../../strings";

export type WorkflowSummary = Answer<"list_workflows">["workflows"][number];
export type WorkflowDetail = Answer<"get_workflow">;
export type Kpi = WorkflowSummary["kpis"][number];
export type Deadline = WorkflowSummary["deadlines"][number];
export type AttachedAutomation = WorkflowSummary["automations"][number];
export type Member = Schemas["MemberShape"];
export type RosterRole = WorkflowSummary["roster"][number]["role"];

const DAY = 86_400_000;

/** Today in the user's time zone: 2026-12-31. */
export function todayOf(now = new Date()): string {
  const two = (number: number) => String(number).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}

/** Whole days from today to that date; negative if it has passed. */
export const daysTo = (date: string, today: string): number =>
  Math.round((Date.parse(date) - Date.parse(today)) / DAY);

export function describeDistance(days: number): string {
  if (days === 0) return t.workflows.today;
  if (days === 1) return t.workflows.tomorrow;
  if (days === -1) return t.workflows.yesterday;
  return days > 0 ? t.workflows.inDay(days) : t.workflows.dayAgo(-days);
}

/** The next deadline, if any. */
export const nextOf = (deadlines: Deadline[], today: string): Deadline | null =>
  [...deadlines].sort((one, two) => one.date.localeCompare(two.date))
    .find((one) => one.date >= today) ?? null;

/** The progress of a KPI, 0 to 100; computed as on the server. */
export function percentOf({ current, target }: { current?: number | null; target: number }) {
  if (target === 0) return current === 0 ? 100 : 0;
  return Math.round(Math.min(Math.max((current ?? 0) / target, 0), 1) * 100);
}

/** The value of a KPI with its unit. */
export const amount = (value: number | null | undefined, unit?: string): string =>
  `${value === null || value === undefined ? "—" : value.toLocaleString(locale)}${
    unit ? (unit === "%" ? "%" : ` ${unit}`) : ""
  }`;

export const TEMPLATES = [
  {
    value: "progress_scorer",
    label: t.workflows.trackKpis,
    description: t.workflows.dailyAt900Records,
  },
  {
    value: "task_nudger",
    label: t.workflows.taskReminders,
    description: t.workflows.dailyAt800A,
  },
  {
    value: "milestone_reviewer",
    label: t.workflows.weeklyReview,
    description: t.workflows.fridaysAt1800A,
  },
] as const;
export type Template = typeof TEMPLATES[number]["value"];

/** The user's time zone. */
export const zoneHere = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
