// The timeline of a run: each step is a row, each attempt and each wait a segment, on one time
// scale. It is computed from the record and the plan alone, so it is the same live and afterwards.

import type { Schemas } from "../../api/client";
import { keyOf } from "./keys";
import type { PlanStep } from "./plan";
import { t } from "../../strings";

export type Attempt = Omit<Schemas["StepShape"], "output" | "process"> & {
  output?: unknown;
  process?: Schemas["StepShape"]["process"];
};
export type Timed = {
  status: string;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  due_at?: string | null;
  steps: Attempt[];
};

export type SegmentKind =
  | "queue"
  | "work"
  | "failed"
  | "wait"
  | "retry"
  | "under_way"
  | "broken_off";
export type Segment = { kind: SegmentKind; from: number; to: number; attempt?: number };
export type Row = {
  key: string;
  step: string;
  item: string;
  /** The label within its parent: items have numbers. */
  name: string;
  action: string;
  depth: number;
  status: string;
  segments: Segment[];
  /** The duration, if it is not the sum of its segments. */
  seconds?: number;
  tries: Attempt[];
  /** The number of nested rows; hidden while collapsed. */
  inside: number;
  plan?: PlanStep;
  /** A row that only groups the steps of one item. */
  isItem?: boolean;
};

const at = (text: string) => new Date(text).getTime();
const WAITS = new Set(["delay", "approval"]);
const OVER = new Set(["succeeded", "failed", "cancelled", "timed_out", "skipped", "dead"]);
// Shorter gaps are engine overhead, not waits.
const GAP = 20;

type TimelineContext = {
  run: Timed;
  now: number;
  tries: Map<string, Attempt[]>;
  /** The end of the previous record: used for waits that leave no other trace. */
  before: Map<Attempt, number>;
  isOpen: (key: string) => boolean;
};

/** The start and the end of the scale; it grows while the run is in progress. */
export function scaleOf(run: Timed, now: number): { from: number; to: number } {
  const from = at(run.created_at);
  const last = Math.max(from, ...run.steps.map((step) => at(step.finished_at)));
  const to = run.finished_at ? Math.max(at(run.finished_at), last) : Math.max(now, last);
  return { from, to: Math.max(to, from + 1) };
}

function timelineContext(
  run: Timed,
  now: number,
  isOpen: (key: string) => boolean,
): TimelineContext {
  const tries = new Map<string, Attempt[]>();
  const before = new Map<Attempt, number>();
  let last = at(run.started_at ?? run.created_at);
  const inOrder = [...run.steps].sort((one, other) => at(one.finished_at) - at(other.finished_at));
  for (const one of inOrder) {
    before.set(one, last);
    last = Math.max(last, at(one.finished_at));
    const key = keyOf(one);
    const found = tries.get(key);
    if (found) found.push(one);
    else tries.set(key, [one]);
  }
  for (const all of tries.values()) {
    all.sort((one, other) => one.run_attempt - other.run_attempt || one.attempt - other.attempt);
  }
  return { run, now, tries, before, isOpen };
}

function segmentsOf(ground: TimelineContext, tries: Attempt[], action: string): Segment[] {
  const made: Segment[] = [];
  let previous: Attempt | undefined;
  for (const one of tries) {
    const end = at(one.finished_at);
    const start = end - one.ms;
    const gapFrom = previous ? at(previous.finished_at) : ground.before.get(one) ?? start;
    if (previous && start - gapFrom > GAP) {
      const kind = previous.run_attempt === one.run_attempt ? "retry" : "broken_off";
      made.push({ kind, from: gapFrom, to: start });
    } else if (WAITS.has(action) && one.status !== "waiting" && start - gapFrom > GAP) {
      made.push({ kind: "wait", from: gapFrom, to: start });
    }
    if (one.status !== "skipped") {
      const bad = one.status === "failed" || one.status === "retrying";
      const kind = bad ? "failed" : WAITS.has(action) ? "wait" : "work";
      made.push({ kind, from: start, to: end, attempt: one.attempt });
    }
    previous = one;
  }
  if (previous && !OVER.has(ground.run.status)) {
    const from = at(previous.finished_at);
    if (previous.status === "waiting") made.push({ kind: "wait", from, to: ground.now });
    if (previous.status === "retrying") made.push({ kind: "retry", from, to: ground.now });
  }
  return made;
}

/** Whether it is a for_each that continued after failed items. */
function hasFailedItems({ output }: Attempt): boolean {
  const { failed, results } = (output ?? {}) as { failed?: unknown; results?: unknown };
  return Array.isArray(results) && Array.isArray(failed) && failed.length > 0;
}

function statusOf(tries: Attempt[], ground: TimelineContext, step: PlanStep): string {
  const last = tries.at(-1);
  if (!last) return OVER.has(ground.run.status) ? "not_reached" : "planned";
  if (last.status === "succeeded" && step.nested.length && hasFailedItems(last)) {
    return "partly_failed";
  }
  // A run that was ended while a step waited did not finish that step.
  const waits = last.status === "waiting" || last.status === "retrying";
  return waits && OVER.has(ground.run.status) ? "cancelled" : last.status;
}

function rowOf(
  ground: TimelineContext,
  step: PlanStep,
  item: string,
  depth: number,
  name = step.id,
): Row {
  const key = keyOf({ step: step.id, item });
  const tries = ground.tries.get(key) ?? [];
  return {
    key,
    step: step.id,
    item,
    name,
    action: step.action,
    depth,
    status: statusOf(tries, ground, step),
    segments: segmentsOf(ground, tries, step.action),
    tries,
    inside: 0,
    plan: step,
  };
}

const lastOf = (item: string) => Number(item.slice(item.lastIndexOf(".") + 1));

/** The items of one for_each that have a record, in order. */
function itemsOf(ground: TimelineContext, nested: PlanStep[], item: string): string[] {
  const ids = new Set<string>();
  const gather = (steps: PlanStep[]) => {
    for (const step of steps) {
      ids.add(step.id);
      gather(step.nested);
    }
  };
  gather(nested);
  const deep = item ? item.split(".").length + 1 : 1;
  const found = new Set<string>();
  for (const one of ground.run.steps) {
    if (!ids.has(one.step) || !one.item || (item && !one.item.startsWith(`${item}.`))) continue;
    found.add(one.item.split(".").slice(0, deep).join("."));
  }

  return [...found].sort((one, other) => lastOf(one) - lastOf(other));
}

function addSteps(
  ground: TimelineContext,
  steps: PlanStep[],
  item: string,
  depth: number,
  rows: Row[],
) {
  for (const step of steps) {
    const row = rowOf(ground, step, item, depth);
    if (step.afterFailure && row.tries.length === 0) continue;
    if (item && row.tries.length === 0 && step.nested.length === 0) continue;
    rows.push(row);
    if (step.nested.length === 0) continue;
    const items = itemsOf(ground, step.nested, item);
    row.inside = items.length;
    if (row.tries.length === 0 && items.length > 0) row.status = "under_way";
    if (!ground.isOpen(row.key)) continue;
    for (const one of items) addItem(ground, step, one, depth + 1, rows);
  }
}

function addItem(
  ground: TimelineContext,
  step: PlanStep,
  item: string,
  depth: number,
  rows: Row[],
) {
  const [only, more] = step.nested;
  if (only && !more && only.nested.length === 0) {
    rows.push(rowOf(ground, only, item, depth, `${only.id} · ${lastOf(item) + 1}`));
    return;
  }
  const inner: Row[] = [];
  addSteps(ground, step.nested, item, depth + 1, inner);
  const key = `${step.id}#${item}`;
  const segments = inner.flatMap((row) => row.segments);
  const found = (status: string) => inner.some((row) => row.status === status);
  rows.push({
    key,
    step: step.id,
    item,
    name: t.run.item(lastOf(item) + 1),
    action: "item",
    depth,
    status: ["failed", "partly_failed"].find(found) ?? "succeeded",
    segments,
    tries: [],
    inside: inner.length,
    isItem: true,
  });
  if (ground.isOpen(key)) rows.push(...inner);
}

/** Steps in the record that are not in the plan. */
function unknownRows(ground: TimelineContext, plan: PlanStep[]): Row[] {
  const ids = new Set<string>();
  const gather = (steps: PlanStep[]) =>
    steps.forEach((step) => (ids.add(step.id), gather(step.nested)));
  gather(plan);
  const made: Row[] = [];
  for (const [, tries] of ground.tries) {
    const first = tries[0]!;
    if (ids.has(first.step)) continue;
    const step = { id: first.step, action: "", config: {}, nested: [] };
    made.push({ ...rowOf(ground, step, first.item, 0, keyOf(first)), plan: undefined });
  }
  return made;
}

/** The running step: the first of the plan that is not finished. */
function markUnderWay(ground: TimelineContext, rows: Row[]) {
  if (ground.run.status !== "running") return;
  const next = rows.find((row) =>
    row.depth === 0 && !row.plan?.afterFailure &&
    ["planned", "retrying", "waiting", "under_way"].includes(row.status)
  );
  if (!next) return;
  const ends = ground.run.steps.map((step) => at(step.finished_at));
  const from = next.segments.at(-1)?.to ??
    (next.inside
      ? undefined
      : Math.max(at(ground.run.started_at ?? ground.run.created_at), ...ends));
  if (next.status === "planned") {
    next.segments.push({ kind: "under_way", from: from ?? ground.now, to: ground.now });
  } else if (next.status === "under_way") {
    const starts = ground.run.steps.filter((one) => one.item).map((one) =>
      at(one.finished_at) - one.ms
    );
    next.segments.push({
      kind: "under_way",
      from: Math.min(ground.now, ...starts),
      to: ground.now,
    });
  }
  if (next.status === "planned") next.status = "under_way";
}

export function rowsOf(
  run: Timed,
  plan: PlanStep[],
  now: number,
  isOpen: (key: string) => boolean,
): Row[] {
  const ground = timelineContext(run, now, isOpen);
  const rows: Row[] = [];
  addSteps(ground, plan, "", 0, rows);
  rows.push(...unknownRows(ground, plan));
  markUnderWay(ground, rows);
  return rows;
}

/** How long a run has been running, without its queue time; null before it starts. */
export function runDuration(run: Timed, now: number): number | null {
  if (!run.started_at) return null;
  return Math.max(0, (run.finished_at ? at(run.finished_at) : now) - at(run.started_at)) / 1000;
}

/** The duration of a row, including waits; null: not started. */
export function rowDuration(
  { segments, seconds }: Pick<Row, "segments" | "seconds">,
): number | null {
  if (seconds !== undefined) return seconds;
  if (!segments.length) return null;
  return (Math.max(...segments.map((one) => one.to)) - segments[0]!.from) / 1000;
}

/** The queue time before a worker claimed it; null if negligible. */
export function queueTime(run: Timed, now: number): Segment | null {
  const from = at(run.created_at);
  const pending = !run.started_at && !run.finished_at;
  const to = run.started_at ? at(run.started_at) : pending ? now : from;
  return pending || to - from >= 100 ? { kind: "queue", from, to } : null;
}
