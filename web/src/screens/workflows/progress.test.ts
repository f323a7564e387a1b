import { expect, test } from "vitest";
import { amount, daysTo, describeDistance, nextOf, percentOf, todayOf } from "./progress";

test("distances in days follow the calendar, also across clock changes", () => {
  expect(todayOf(new Date(2026, 0, 5, 23, 59))).toBe("2026-01-05");
  // The night of a clock change has 23 hours.
  expect(daysTo("2026-03-30", "2026-03-28")).toBe(2);
  expect([0, 1, -1, 12, -3].map(describeDistance)).toEqual([
    "today",
    "tomorrow",
    "yesterday",
    "in 12 days",
    "3 days ago",
  ]);
});

test("the next deadline is the first that is not over", () => {
  const days = [{ label: "late", date: "2026-12-31" }, { label: "past", date: "2026-01-01" }, {
    label: "now",
    date: "2026-06-01",
  }];
  expect(nextOf(days, "2026-06-01")?.label).toBe("now");
  expect(nextOf(days, "2027-01-01")).toBeNull();
});

test("progress is clamped, and zero is a valid target", () => {
  expect(percentOf({ current: 12, target: 100 })).toBe(12);
  expect(percentOf({ current: 250, target: 100 })).toBe(100);
  expect(percentOf({ current: -4, target: 100 })).toBe(0);
  expect(percentOf({ target: 100 })).toBe(0);
  expect(percentOf({ current: 0, target: 0 })).toBe(100);
  expect(percentOf({ target: 0 })).toBe(0);
  expect(amount(undefined, "customers")).toBe("— customers");
  expect(amount(1200, "%")).toBe("1,200%");
});
