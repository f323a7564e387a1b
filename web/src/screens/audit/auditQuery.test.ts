import { expect, test } from "vitest";
import { asksOf } from "./auditQuery";

test("the last day of a range is meant wholly", () => {
  const asked = asksOf({ from: "2026-03-01", to: "2026-03-01" });
  const hours = (Date.parse(asked.before!) - Date.parse(asked.since!)) / 3_600_000;
  expect(hours).toBe(24);
});

test("what is no day and no id is not asked", () => {
  expect(asksOf({ from: "soon", to: "2026-13-99", actor: "ada" })).toEqual({});
  expect(asksOf({ action: "create_token" })).toEqual({ action: "create_token" });
});
