import { expect, test } from "vitest";
import { isNarrowed, parseQuery } from "./listQuery";

test("the address is heard as far as it makes sense", () => {
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

test("sorting and the archive leave nothing out, a filter does", () => {
  expect(isNarrowed({ sort: "name" })).toBe(false);
  expect(isNarrowed({ state: "archived" })).toBe(false);
  expect(isNarrowed({ state: "active" })).toBe(true);
  expect(isNarrowed({ state: "archived", search: "a" })).toBe(true);
});
