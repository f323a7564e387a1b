import { expect, test } from "vitest";
import {
  type Automation,
  dueToday,
  failuresFirst,
  isNew,
  recent,
  type Run,
  summary,
  tasksOf,
} from "./homeSummary";

const NOW = new Date(2026, 2, 10, 15).getTime();
const HOUR = 3_600_000;
const at = (hours: number) => new Date(NOW + hours * HOUR).toISOString();
const run = (more: Partial<Run>): Run =>
  ({ status: "succeeded", outcome: "effects", created_at: at(-1), ...more }) as Run;

test("failures come first, and only the last day is included", () => {
  const runs = [
    run({ id: "new" }),
    run({ id: "bad", status: "failed", created_at: at(-5) }),
    run({ id: "old", created_at: at(-30) }),
  ];
  const seen = recent(runs, NOW);
  expect(failuresFirst(seen).map((one) => one.id)).toEqual(["bad", "new"]);
});

test("outcomes are summarized, the most frequent first", () => {
  const runs = [run({ outcome: "failed", status: "failed" }), run({}), run({})];
  expect(summary(runs)).toBe("3 runs: 2 made changes, 1 failed");
  expect(summary([run({ outcome: null, status: "running" })])).toBe("1 run: 1 running");
});

test("only active automations due before midnight are listed for today", () => {
  const one = (more: Partial<Automation>): Automation =>
    ({ id: "x", state: "active", next_due_at: at(2), ...more }) as Automation;
  const due = dueToday([
    one({ id: "late", next_due_at: at(8) }),
    one({ id: "soon", next_due_at: at(1) }),
    one({ id: "tomorrow", next_due_at: at(10) }),
    one({ id: "resting", state: "paused" }),
    one({ id: "manually", next_due_at: null }),
  ], NOW);
  expect(due.map((automation) => automation.id)).toEqual(["soon", "late"]);
});

test("an installation is new until something was created and ran", () => {
  const known = { named: true, automations: 1, runs: 0, looked: false, connected: false };
  expect(isNew(tasksOf(known))).toBe(true);
  expect(isNew(tasksOf({ ...known, runs: 1 }))).toBe(false);
});
