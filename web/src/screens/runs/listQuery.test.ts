import { expect, test } from "vitest";
import { canReplay, describeOrigin, parseQuery, type RunSummary } from "./listQuery";

const ID = "019a2b3c-0000-7000-8000-000000000001";
const run = (more: Partial<RunSummary>) =>
  ({
    status: "failed",
    mode: "live",
    trigger_type: "manual",
    version: 2,
    replay_of: null,
    ...more,
  }) as RunSummary;

test("only valid filters are sent", () => {
  expect(parseQuery({ status: "failed", mode: "dry_run", automation: ID })).toEqual({
    status: "failed",
    mode: "dry_run",
    automation_id: ID,
  });
  expect(parseQuery({ status: "lost", mode: "odd", automation: "1'--" })).toEqual({});
  expect(parseQuery({ automation: "x" }, ID)).toEqual({ automation_id: ID });
});

test("a run shows its origin, and whether it can be replayed", () => {
  expect(describeOrigin(run({}))).toBe("manually · version 2");
  expect(describeOrigin(run({ trigger_type: "webhook", mode: "dry_run" }))).toBe(
    "webhook · dry run · version 2",
  );
  expect(
    [run({}), run({ status: "dead" }), run({ status: "running" }), run({ status: "succeeded" })]
      .map(canReplay),
  )
    .toEqual([true, true, false, false]);
});
