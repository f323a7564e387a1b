import { expect, test } from "vitest";
import { foldAddition } from "./foldAddition";

test("a short addition is not folded", () => {
  expect(foldAddition("It starts once a day.")).toEqual({
    head: "It starts once a day.",
    rest: "",
  });
});

test("a long addition is folded, and nothing of it is lost", () => {
  const text = "🙂x".repeat(5_000);
  const { head, rest } = foldAddition(text);
  expect(head + rest).toBe(text);
  expect(Array.from(head)).toHaveLength(400);
});
