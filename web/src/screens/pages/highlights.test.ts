import { expect, test } from "vitest";
import { splitAtMatches } from "./highlights";

test("highlights use code point offsets, also after surrogate pairs", () => {
  expect(splitAtMatches("😀 open at nine", [[2, 6]])).toEqual([
    { text: "😀 ", marked: false },
    { text: "open", marked: true },
    { text: " at nine", marked: false },
  ]);
  expect(splitAtMatches("abc", [[1, 99], [0, 2], [5, 3]])).toEqual([
    { text: "ab", marked: true },
    { text: "c", marked: true },
  ]);
  expect(splitAtMatches("", [])).toEqual([]);
});
