import { expect, test } from "vitest";
import { toQuery } from "./auditQuery";

test("the last day of a range is meant wholly", () => {
  const asked = toQuery({ from: "2026-03-01", to: "2026-03-01" });
  const hours = (Date.parse(asked.before!) - Date.parse(asked.since!)) / 3_600_000;
  expect(hours).toBe(24);
});

test("what is no day and no id is not asked", () => {
  expect(toQuery({ from: "soon", to: "2026-13-99", actor: "ada" })).toEqual({});
  expect(toQuery({ action: "create_token" })).toEqual({ action: "create_token" });
});
