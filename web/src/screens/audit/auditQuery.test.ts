import { expect, test } from "vitest";
import { toQuery } from "./auditQuery";

test("the last day of a range is included", () => {
  const query = toQuery({ from: "2026-03-01", to: "2026-03-01" });
  const hours = (Date.parse(query.before!) - Date.parse(query.since!)) / 3_600_000;
  expect(hours).toBe(24);
});

test("invalid days and ids are not sent", () => {
  expect(toQuery({ from: "soon", to: "2026-13-99", actor: "ada" })).toEqual({});
  expect(toQuery({ action: "create_token" })).toEqual({ action: "create_token" });
});
