// Edits between two definitions, and the texts of a review.

import { expect, test } from "vitest";
import { modeOf } from "./Approvals";
import { asRequest, editsBetween, withEdits } from "./edits";
import {
  describeCap,
  describePrice,
  describeRuns,
  explain,
  type Forecast,
  reviewNotes,
} from "./reviewText";
import { parseSamples } from "./useRehearsal";

test("edits transform one definition into another", () => {
  const before = {
    name: "A",
    plan: [{ step_id: "x", config: { "a/b": 1, c: [1, 2] } }],
    goal: "g",
  };
  const after = {
    name: "A",
    plan: [{ step_id: "x", config: { "a/b": 2, c: [1] } }],
    extra: true,
  };
  const edits = editsBetween(before, after);
  expect(edits).toEqual([
    { pointer: "/plan/0/config/a~1b", value: 2 },
    { pointer: "/plan/0/config/c", value: [1] },
    { pointer: "/goal", remove: true },
    { pointer: "/extra", value: true },
  ]);
  expect(withEdits(before, edits)).toEqual({ made: after, lost: [] });
  expect(editsBetween(before, structuredClone(before))).toEqual([]);
  expect(asRequest(edits, after)).toEqual({ edits });
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}`, at]));
  expect(asRequest(editsBetween({}, many), many)).toEqual({ definition: many });
});

const forecast = {
  runs_per_month: { low: 20, usual: 22, high: 23, basis: "schedule", why: "" },
  caps: { usd_per_run: "0.1", usd_per_day: "0.5", usd_per_month: "2.3" },
} as Forecast;

test("prices state only what is known", () => {
  const range = { low: "0.1", usual: "0.2", high: "0.5" };
  expect(describePrice(range, "measured")).toBe("about $0.20");
  expect(describePrice({ low: "0", usual: "0", high: "0.5" }, "unknown")).toBe("unknown");
  expect(describePrice({ low: "0", usual: "0", high: "0" }, "free")).toBe("$0");
  expect(describeRuns(forecast.runs_per_month)).toBe("22 runs (20 to 23)");
  expect(describeCap(forecast)).toContain("manual runs are extra");
  const wide = { ...forecast, caps: { ...forecast.caps, usd_per_month: "15" } };
  expect(describeCap(wide)).toBe("At most $0.50 per day and $15.00 per month.");
});

test("the most severe note comes first", () => {
  const flag = (level: string, text: string) => ({
    pointer: "",
    code: "",
    by: "rules",
    level,
    text,
  });
  const review = { flags: [flag("note", "n"), flag("warning", "w")] } as never;
  const problems = [{ pointer: "/name", detail: "p" }];
  expect(reviewNotes({ problems, review }).map((one) => one.detail)).toEqual(["p", "w", "n"]);
});

test("sentences of steps are separate from those of the whole", () => {
  const explained = ["It does.", "1. It reads.", "2. It writes.", "A run may spend 1 USD."];
  expect(explain({ summary: "It does.", explained } as never)).toEqual({
    steps: ["It reads.", "It writes."],
    rest: ["A run may spend 1 USD."],
  });
});

test("samples are parsed, or the error is reported", () => {
  expect(parseSamples('{"payload": 1}')).toEqual({ samples: [{ payload: 1 }] });
  expect(parseSamples('[{"inputs": {}}]')).toEqual({ samples: [{ inputs: {} }] });
  expect(parseSamples("{")).toHaveProperty("wrong");
  expect(parseSamples('{"x": 1}')).toHaveProperty("wrong");
});

test("the approval mode is the one in the draft, or the one that was reviewed", () => {
  const write = {
    step: "post",
    capability: "slack_post",
    label: "Post",
    says: "Post to the Slack channel #ops",
    account: null,
    text: "x",
    mode: "ask" as const,
    pointer: "/plan/0/approval",
    values: { ask: "ask", automatic: { slack_post: "automatic" } },
    only_asks_because: null,
  };
  expect(modeOf(write, { plan: [{}] })).toBe("ask");
  const chosen = { slack_post: "automatic" };
  expect(modeOf(write, { plan: [{ approval: chosen }] })).toBe("automatic");
  expect(modeOf({ ...write, mode: "automatic" }, { plan: [{ approval: "ask" }] })).toBe("ask");
  expect(modeOf(write, { plan: [{ approval: "other" }] })).toBe("ask");
});
