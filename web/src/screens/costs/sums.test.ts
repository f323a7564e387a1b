import { expect, test } from "vitest";
import { everyDay, linesOf, rangeIn, rangeOf, shareOf, type Usage } from "./sums";

const NOW = Date.parse("2026-03-10T23:30:00Z");
const SUM = {
  asks: 1,
  input_tokens: 10,
  output_tokens: 5,
  cached_tokens: 0,
  cost_usd: 1,
  reported_usd: 0,
};

test("a range has as many days as its name says", () => {
  expect(rangeOf("7", NOW)).toEqual({ from: "2026-03-04", to: "2026-03-10" });
  expect(rangeOf("month", NOW)).toEqual({ from: "2026-03-01", to: "2026-03-10" });
  expect(rangeOf("today", NOW)).toEqual({ from: "2026-03-10", to: "2026-03-10" });
});

test("a URL without a valid range means thirty days", () => {
  const usual = { from: "2026-02-09", to: "2026-03-10" };
  expect(rangeIn({}, NOW)).toEqual(usual);
  expect(rangeIn({ from: "2026-03-05", to: "2026-03-01" }, NOW)).toEqual(usual);
  expect(rangeIn({ from: "x", to: "2026-03-01" }, NOW)).toEqual(usual);
  expect(rangeIn({ range: "forever" }, NOW)).toEqual(usual);
  expect(rangeIn({ from: "2026-01-01", to: "2026-01-02" }, NOW).to).toBe("2026-01-02");
});

test("days without requests are included", () => {
  const bars = everyDay([{ day: "2026-03-02", ...SUM }], "2026-03-01", "2026-03-03");
  expect(bars.map((one) => [one.day, one.usd])).toEqual([
    ["2026-03-01", 0],
    ["2026-03-02", 1],
    ["2026-03-03", 0],
  ]);
});

test("cap usage is at most 100 percent", () => {
  expect([shareOf(1, 4), shareOf(9, 4), shareOf(1, 0), shareOf(0, 0)]).toEqual([25, 100, 100, 0]);
});

test("the most expensive line comes first, and links to its requests", () => {
  const usage = {
    automations: [
      { automation_id: "a", name: "Tea", ...SUM },
      { automation_id: null, name: null, ...SUM, cost_usd: 3 },
    ],
  } as unknown as Usage;
  const lines = linesOf(usage, "automation");
  expect(lines.map((one) => one.label)).toEqual(["No automation", "Tea"]);
  expect(lines[1]!.only).toEqual({ automation: "a" });
});
