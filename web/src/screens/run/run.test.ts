// The timeline from the record, and the record merged with streamed events.

import { describe, expect, it } from "vitest";
import { runStatus, toneOf } from "../../kit/format";
import { applyEvents, type Detail, mergeUpdates, NO_NEWS } from "./liveRun";
import { keyOf, readKey, readLine, writeLine } from "./keys";
import { awaitedOf } from "./PersonNeeded";
import { planOf } from "./plan";
import { type Edited, replayOf } from "./replayRequest";
import {
  type Attempt,
  queueTime,
  rowDuration,
  rowsOf,
  runDuration,
  scaleOf,
  type Timed,
} from "./timeline";
import { agentOf, linesOf, type Piece, withPieces } from "./stepOutput";

const T0 = Date.parse("2026-11-16T12:00:00Z");
const when = (ms: number) => new Date(T0 + ms).toISOString();
const tried = (step: string, end: number, ms: number, more: Partial<Attempt> = {}): Attempt => ({
  step,
  item: "",
  attempt: 1,
  run_attempt: 1,
  status: "succeeded",
  ms,
  finished_at: when(end),
  until: null,
  error: null,
  ...more,
});
const timed = (status: string, steps: Attempt[], more: Partial<Timed> = {}): Timed => ({
  status,
  created_at: when(0),
  started_at: when(500),
  finished_at: null,
  steps,
  ...more,
});
const PLAN = planOf({
  plan: [
    { step_id: "fetch", action: "http_fetch" },
    { step_id: "rest", action: "delay", config: { seconds: 5 } },
    {
      step_id: "each",
      action: "for_each",
      config: { steps: [{ step_id: "weigh", action: "transform_data" }] },
    },
  ],
  execution: { on_failure: [{ step_id: "sorry", action: "notification" }] },
});
const open = () => true;
const kinds = (segments: { kind: string }[]) => segments.map((one) => one.kind);

describe("the timeline", () => {
  it("shows attempts and the waits between them as segments on one scale", () => {
    const steps = [
      tried("fetch", 1000, 300, { status: "retrying" }),
      tried("fetch", 4000, 200, { attempt: 2 }),
      tried("rest", 9000, 0),
    ];
    const [fetch, rest, each] = rowsOf(timed("running", steps), PLAN, T0 + 9500, open);
    expect(kinds(fetch!.segments)).toEqual(["failed", "retry", "work"]);
    expect(fetch!.segments[1]).toMatchObject({ from: T0 + 1000, to: T0 + 3800 });
    expect(rest!.segments[0]).toEqual({ kind: "wait", from: T0 + 4000, to: T0 + 9000 });
    expect(each!.status).toBe("under_way");
    expect(each!.segments).toEqual([{ kind: "under_way", from: T0 + 9000, to: T0 + 9500 }]);
  });

  it("omits steps that run only after a failure, and marks unreached ones", () => {
    const run = timed("failed", [tried("fetch", 900, 5, { status: "failed" })], {
      finished_at: when(950),
    });
    const rows = rowsOf(run, PLAN, T0, open);
    expect(rows.map((row) => [row.key, row.status])).toEqual([
      ["fetch", "failed"],
      ["rest", "not_reached"],
      ["each", "not_reached"],
    ]);
    const sorry = { ...run, steps: [...run.steps, tried("sorry", 940, 3)] };
    expect(rowsOf(sorry, PLAN, T0, open).at(-1)).toMatchObject({
      key: "sorry",
      status: "succeeded",
    });
  });

  it("groups the items of a list in order, and hides them while collapsed", () => {
    const items = Array.from(
      { length: 12 },
      (_, at) => tried("weigh", 1000 + at, 0, { item: String(at) }),
    );
    const run = timed("running", items.reverse());
    const rows = rowsOf(run, PLAN, T0 + 2000, open);
    expect(rows.filter((row) => row.step === "weigh").map((row) => row.item)).toEqual(
      items.map((one) => one.item).reverse(),
    );
    const closed = rowsOf(run, PLAN, T0 + 2000, () => false);
    expect(closed.map((row) => [row.key, row.inside])).toEqual([["fetch", 0], ["rest", 0], [
      "each",
      12,
    ]]);
  });

  it("keeps steps that are not in the plan", () => {
    expect(rowsOf(timed("succeeded", [tried("old", 600, 9)]), [], T0, open)[0]).toMatchObject({
      key: "old",
    });
  });

  it("begins with the queue time, and grows until the run is over", () => {
    expect(queueTime(timed("running", []), T0)).toEqual({
      kind: "queue",
      from: T0,
      to: T0 + 500,
    });
    expect(queueTime(timed("running", [], { started_at: when(5) }), T0)).toBeNull();
    expect(scaleOf(timed("running", []), T0 + 7000).to).toBe(T0 + 7000);
    expect(scaleOf(timed("failed", [], { finished_at: when(800) }), T0 + 7000).to).toBe(
      T0 + 800,
    );
  });

  it("shows how long a step has waited so far, and that it was ended in between", () => {
    const steps = [tried("rest", 1000, 0, { status: "waiting", until: when(9000) })];
    const waiting = rowsOf(timed("waiting", steps), PLAN, T0 + 3000, open)[1]!;
    expect(waiting.segments.at(-1)).toEqual({ kind: "wait", from: T0 + 1000, to: T0 + 3000 });
    expect(rowsOf(timed("cancelled", steps), PLAN, T0, open)[1]!.status).toBe("cancelled");
  });
});

describe("streamed events", () => {
  const read = {
    status: "running",
    steps: [tried("fetch", 900, 5)],
    story: {},
  } as unknown as Detail;

  it("adds new steps and updates waiting ones", () => {
    const waiting = tried("rest", 1000, 0, { status: "waiting" });
    const events = [
      { kind: "step", data: { ...waiting } },
      { kind: "step", data: { ...waiting, status: "succeeded", finished_at: when(6000) } },
      { kind: "step", data: { ...tried("fetch", 900, 5) } },
    ];
    const news = applyEvents(NO_NEWS, events, T0);
    const run = mergeUpdates(read, T0, news);
    expect(run.steps.map((one) => [one.step, one.status])).toEqual([["fetch", "succeeded"], [
      "rest",
      "succeeded",
    ]]);
  });

  it("prefers the later one of the stream and the loaded record", () => {
    const news = applyEvents(NO_NEWS, [{ kind: "end", data: { status: "cancelled" } }], T0 + 10);
    expect(mergeUpdates(read, T0, news).status).toBe("cancelled");
    expect(mergeUpdates(read, T0 + 20, news).status).toBe("running");
  });
});

describe("step output", () => {
  const piece = (seq: number, text: string, stream: Piece["stream"] = "out"): Piece => ({
    step: "main",
    item: "",
    attempt: 1,
    seq,
    stream,
    text,
    at: when(seq),
  });

  it("is assembled in order, without duplicates", () => {
    const output = withPieces(withPieces({}, [piece(1, "a"), piece(3, "c\n")]), [
      piece(2, "b"),
      piece(3, "c\n"),
    ]);
    expect(linesOf(output["main@1"]!)).toEqual([{ number: 1, stream: "out", text: "abc" }]);
  });

  it("is numbered by complete lines, with an incomplete one last", () => {
    const lines = linesOf([piece(1, "one\ntw"), piece(2, "oops\n", "err"), piece(3, "o\nth")]);
    expect(lines.map((line) => `${line.number} ${line.stream} ${line.text}`)).toEqual([
      "1 out one",
      "2 err oops",
      "3 out two",
      "4 out th",
    ]);
  });

  it("is parsed as an agent transcript if it is one", () => {
    const answer = JSON.stringify({ kind: "thought", text: "hm" });
    expect(
      agentOf([
        piece(1, answer.slice(0, 9), "agent"),
        piece(2, `${answer.slice(9)}\n{"ki`, "agent"),
      ]),
    )
      .toEqual([{ kind: "thought", text: "hm" }]);
  });
});

it("encodes steps and lines in URLs", () => {
  for (const row of [{ step: "share", item: "1.0" }, { step: "share", item: "" }]) {
    expect(readKey(keyOf(row))).toEqual(row);
    expect(readLine(writeLine(keyOf(row), 12))).toEqual({ key: keyOf(row), line: 12 });
  }
  expect(readLine("#content")).toBeNull();
});

it("sends only changed fields, and nothing that cannot be parsed", () => {
  const before: Edited = { inputs: "{}", payload: "{}", version: "same", mode: "live" };
  expect(replayOf(before, before).body).toEqual({ version: "same" });
  const other: Edited = { ...before, payload: "[1]", mode: "dry_run" };
  expect(replayOf(before, other).body).toEqual({
    version: "same",
    payload: [1],
    mode: "dry_run",
  });
  expect(replayOf(before, { ...before, inputs: "{" }).wrong.inputs).toMatch(/Invalid JSON/);
  expect(replayOf(before, { ...before, inputs: "[]" }).body).toBeUndefined();
  // A number that would lose precision is left as it was, or rejected; it is never sent changed.
  const long: Edited = { ...before, payload: '{"id": 1234567890123456789}' };
  expect(replayOf(long, { ...long, mode: "dry_run" }).body).toEqual({
    version: "same",
    mode: "dry_run",
  });
  const touched = replayOf(long, { ...long, payload: '{"id": 1234567890123456789, "a": 1}' });
  expect(touched.body).toBeUndefined();
  expect(touched.wrong.payload).toMatch(/more digits/);
});

describe("items that failed while their for_each continued", () => {
  const output = { count: 2, results: [1, null], failed: [{ index: 1, error: {} }] };
  const steps = [
    tried("weigh", 600, 10, { item: "0" }),
    tried("weigh", 700, 10, { item: "1", status: "failed" }),
    tried("each", 800, 200, { output }),
  ];

  it("make the step a partial failure, and no step without items", () => {
    const rows = rowsOf(timed("succeeded", steps), PLAN, T0 + 900, () => true);
    const status = (key: string) => rows.find((row) => row.key === key)?.status;
    expect(status("each")).toBe("partly_failed");
    expect(status("weigh[1]")).toBe("failed");
    const copied = [tried("fetch", 800, 200, { output })];
    expect(rowsOf(timed("succeeded", copied), PLAN, T0 + 900, () => true)[0]?.status)
      .toBe("succeeded");
  });

  it("make the run a partial failure", () => {
    expect(runStatus({ status: "succeeded", reason: "items_failed" })).toBe("partly_failed");
    expect(runStatus({ status: "succeeded", reason: null })).toBe("succeeded");
    expect(runStatus({ status: "failed", reason: "items_failed" })).toBe("failed");
    expect(toneOf("partly_failed")).toBe("busy");
  });
});

describe("durations", () => {
  it("excludes the queue time of a run, in its header and in the timeline", () => {
    const over = timed("succeeded", [tried("fetch", 2_000, 100)], { finished_at: when(2_100) });
    expect(runDuration(over, T0 + 99_000)).toBe(1.6);
    const segments = [queueTime(over, T0)!, {
      kind: "work" as const,
      from: T0 + 500,
      to: T0 + 2_100,
    }];
    expect(rowDuration({ segments, seconds: runDuration(over, T0)! })).toBe(1.6);
    expect(runDuration(timed("pending", [], { started_at: null }), T0)).toBeNull();
  });

  it("includes the waits of a step", () => {
    const steps = [tried("fetch", 600, 100), tried("rest", 5_600, 2)];
    const rows = rowsOf(timed("succeeded", steps), PLAN, T0 + 6_000, () => true);
    expect(rowDuration(rows.find((row) => row.key === "rest")!)).toBe(5);
  });
});

describe("what a run waits for", () => {
  const draft: Partial<Attempt> = { status: "waiting", output: { kind: "draft", draft_id: "d1" } };
  const asked = tried("ask", 900, 0, { status: "waiting", output: { approval_id: "q1" } });

  it("names the drafts of its waiting steps, and none once it is over", () => {
    const steps = [tried("tell", 900, 0, draft), asked, tried("done", 900, 5)];
    expect(awaitedOf(timed("waiting", steps))).toEqual(["d1"]);
    expect(awaitedOf(timed("cancelled", steps))).toEqual([]);
  });
});
