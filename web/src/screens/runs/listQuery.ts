// The filters of the run list, kept in the URL; and the text of one line.

import type { Schemas } from "../../api/client";
import type { operations } from "../../api/schema";
import type { Choice } from "../automations/listQuery";
import { describeMode, humanize, isOver } from "../../kit/format";
import { t } from "../../strings";

export type Query = NonNullable<operations["get_runs"]["parameters"]["query"]>;
export type RunSummary = Schemas["RunSummary"];
type Values = Record<string, string | undefined>;

export const STATUSES: Choice[] = [
  { value: "running", label: t.runs.running },
  { value: "waiting", label: t.runs.waiting },
  { value: "pending", label: t.runs.pending },
  { value: "succeeded", label: t.runs.succeeded },
  { value: "failed", label: t.runs.failed },
  { value: "timed_out", label: t.runs.timedOut },
  { value: "dead", label: t.runs.dead },
  { value: "cancelled", label: t.runs.cancelled },
  { value: "skipped", label: t.runs.skipped },
];
export const MODES: Choice[] = [
  { value: "live", label: t.runs.live },
  { value: "dry_run", label: t.runs.dryRun },
  { value: "verify", label: t.runs.verifyMode },
];

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const known = (choices: Choice[], value: string | undefined) =>
  choices.some((one) => one.value === value) ? value : undefined;

export function parseQuery(values: Values, automationId?: string): Query {
  const named = automationId ?? values.automation;
  const query: Values = {
    status: known(STATUSES, values.status),
    mode: known(MODES, values.mode),
    automation_id: named && UUID.test(named) ? named : undefined,
    trigger_id: values.trigger && UUID.test(values.trigger) ? values.trigger : undefined,
  };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value)) as Query;
}

/** The origin of a run: its trigger, and its mode. */
export function describeOrigin(run: RunSummary): string {
  const by = run.replay_of
    ? "replay"
    : run.trigger_type === "manual"
    ? t.runs.manually
    : humanize(run.trigger_type);
  return [by, describeMode(run.mode), t.runs.version(run.version)].filter(Boolean).join(" · ");
}

const LOST = new Set(["failed", "timed_out", "dead"]);
/** A run that did not succeed can be replayed. */
export const canReplay = (run: RunSummary) => isOver(run.status) && LOST.has(run.status);
