import { expect, test } from "vitest";
import { beginnings, initialValues, placeOf, showPlaceholders, sortKeys } from "./recipes";

const SETTINGS = [
  { name: "host", required: true },
  { name: "times", type: "number" as const, default: 3 },
  { name: "loud", type: "boolean" as const },
];

test("a setting that was left empty is left to the recipe, and a number is one", () => {
  const values = beginnings(SETTINGS);
  expect(values).toEqual({ host: "", times: 3, loud: false });
  expect(initialValues(SETTINGS, values)).toEqual({ times: 3, loud: false });
  expect(initialValues(SETTINGS, { host: "example.org", times: "4.5", loud: true }))
    .toEqual({ host: "example.org", times: 4.5, loud: true });
});

test("install-time values are shown by name", () => {
  expect(showPlaceholders("https://{{ install.settings.host }}/x")).toBe("https://<host>/x");
  expect(showPlaceholders("{{install.boards.leads}}")).toBe("<boards leads>");
});

test("only installs with a screen are linked", () => {
  expect(placeOf({ kind: "board", id: "7" })).toBe("/boards/7");
  expect(placeOf({ kind: "bundle", id: "7" })).toBeNull();
});

test("key order is no difference, list order is one", () => {
  const spelled = (value: unknown) => JSON.stringify(sortKeys(value));
  expect(spelled({ b: [{ d: 1, c: null }], a: 2 })).toBe(`{"a":2,"b":[{"c":null,"d":1}]}`);
  expect(spelled([1, 2])).not.toBe(spelled([2, 1]));
});
