// The filters of the list, read from the URL; unknown values are ignored.

import type { operations } from "../../api/schema";

export type Query = NonNullable<operations["get_automations"]["parameters"]["query"]>;
type Values = Record<string, string | undefined>;
export type Choice = { value: string; label: string };

export const STATES: Choice[] = [
  { value: "active", label: "Active" },
  { value: "paused", label: "Paused" },
];
export const HEALTH: Choice[] = [
  { value: "failing", label: "Failing" },
  { value: "waiting", label: "Waiting for a person" },
  { value: "healthy", label: "Succeeding" },
  { value: "never_run", label: "Never run" },
];
export const TRIGGERS: Choice[] = [
  { value: "schedule", label: "On a schedule" },
  { value: "webhook", label: "By webhook" },
  { value: "event", label: "At an event" },
  { value: "board_change", label: "When a board changes" },
  { value: "page_ingested", label: "When a page comes in" },
];
export const SORTS: Choice[] = [
  { value: "newest", label: "Newest first" },
  { value: "name", label: "By name" },
  { value: "next", label: "Next run first" },
  { value: "last", label: "Ran last" },
  { value: "cost", label: "Cost this month" },
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
