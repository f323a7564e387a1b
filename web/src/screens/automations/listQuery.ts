// The filters of the list, read from the URL; unknown values are ignored.

import type { operations } from "../../api/schema";
import { t } from "../../strings";

export type Query = NonNullable<operations["get_automations"]["parameters"]["query"]>;
type Values = Record<string, string | undefined>;
export type Choice = { value: string; label: string };

export const STATES: Choice[] = [
  { value: "active", label: t.automations.active },
  { value: "paused", label: t.automations.paused },
];
export const HEALTH: Choice[] = [
  { value: "failing", label: t.automations.failing },
  { value: "waiting", label: t.automations.needsAttention },
  { value: "healthy", label: t.automations.succeeding },
  { value: "never_run", label: t.automations.neverRun },
];
export const TRIGGERS: Choice[] = [
  { value: "schedule", label: t.automations.onASchedule },
  { value: "webhook", label: t.automations.webhook },
  { value: "event", label: t.automations.event },
  { value: "board_change", label: t.automations.boardChange },
  { value: "page_ingested", label: t.automations.newPage },
  { value: "chat_message", label: t.automations.chatMessage },
];
export const SORTS: Choice[] = [
  { value: "newest", label: t.automations.newestFirst },
  { value: "name", label: t.automations.byName },
  { value: "next", label: t.automations.nextRunFirst },
  { value: "last", label: t.automations.lastRunFirst },
  { value: "cost", label: t.automations.costThisMonth },
];

const known = (choices: Choice[], value: string | undefined) =>
  choices.some((one) => one.value === value) ? value : undefined;

/** Whether archived automations are shown. */
export const isArchived = (values: Values) => values.state === "archived";

export function parseQuery(values: Values): Query {
  const query: Values = {
    state: isArchived(values) ? "archived" : known(STATES, values.state),
    search: values.search?.trim() || undefined,
    health: known(HEALTH, values.health),
    trigger: known(TRIGGERS, values.trigger),
    sort: known(SORTS, values.sort),
  };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value)) as Query;
}

/** Whether a filter is active. */
export function isNarrowed(values: Values): boolean {
  const { sort: _, state, ...rest } = parseQuery(values);
  return Object.keys(rest).length > 0 || (state !== undefined && state !== "archived");
}
