import { expect, test } from "vitest";
import {
  defaultInputs,
  type Definition,
  describeState,
  type Detail,
  hasScript,
  listLimits,
  versionsToCompare,
} from "./automationText";

const plan = [{ step_id: "work", action: "script", config: { wall_seconds: 900 } }];

test("limits include their defaults, and a script never outlives its run", () => {
  const answer = listLimits(
    { plan, execution: { budget_cap_usd: "0.5", timeout_seconds: 120 } } as Definition,
  );
  const texts = Object.fromEntries(answer.map((one) => [one.name, one.text]));
  expect(texts["Cost per run"]).toBe("at most $0.50");
  expect(texts["Cost per day"]).toBe("at most $1.00");
  expect(texts["Script work"]).toBe("stops after 2 min");
  expect(answer.find((one) => one.name === "Retention")?.pointer).toBe("/retention/runs_days");
});

test("scripts are found inside other steps", () => {
  const loop = { step_id: "all", action: "for_each", config: { steps: plan } };
  expect(hasScript({ plan: [loop] } as Definition)).toBe(true);
  expect(hasScript({ plan: [{ step_id: "a", action: "delay" }] } as Definition)).toBe(false);
});

test("the state includes its reason, and computed inputs are omitted", () => {
  const paused = { state: "paused", paused_reason: "failures", failures: 3, triggers: [] };
  expect(describeState(paused as unknown as Detail)).toContain("3 failures in a row");
  const properties = { n: { default: 2 }, day: { default: "$today" }, free: {} };
  expect(defaultInputs({ plan, inputs: { schema: { properties } } } as Definition)).toEqual({
    n: 2,
  });
});

test("a URL compares the named versions, or a version with its predecessor", () => {
  expect(versionsToCompare({}, 5)).toEqual({ from: 4, to: 5 });
  expect(versionsToCompare({ version: "3" }, 5)).toEqual({ from: 2, to: 3 });
  expect(versionsToCompare({ version: "1" }, 5)).toEqual({ from: 1, to: 5 });
  expect(versionsToCompare({ from: "1", to: "4", version: "9" }, 5)).toEqual({ from: 1, to: 4 });
});
