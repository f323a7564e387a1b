import { expect, test } from "vitest";
import { parted } from "./highlights";

test("marks stand where the server counted them, also behind signs of two units", () => {
  expect(parted("😀 open at nine", [[2, 6]])).toEqual([
    { text: "😀 ", marked: false },
    { text: "open", marked: true },
    { text: " at nine", marked: false },
  ]);
  expect(parted("abc", [[1, 99], [0, 2], [5, 3]])).toEqual([
    { text: "ab", marked: true },
    { text: "c", marked: true },
  ]);
  expect(parted("", [])).toEqual([]);
});
