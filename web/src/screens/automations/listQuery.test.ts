import { expect, test } from "vitest";
import { isNarrowed, parseQuery } from "./listQuery";

test("valid URL parameters are used, others are ignored", () => {
  expect(parseQuery({ state: "paused", search: "  report ", health: "failing", sort: "cost" }))
    .toEqual({
      state: "paused",
      search: "report",
      health: "failing",
      sort: "cost",
    });
  expect(parseQuery({ state: "odd", health: "x", trigger: "moon", sort: "luck", search: " " }))
    .toEqual({});
});

test("a filter narrows the list, sorting and the archive do not", () => {
  expect(isNarrowed({ sort: "name" })).toBe(false);
  expect(isNarrowed({ state: "archived" })).toBe(false);
  expect(isNarrowed({ state: "active" })).toBe(true);
  expect(isNarrowed({ state: "archived", search: "a" })).toBe(true);
});
