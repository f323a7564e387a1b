import { afterEach, expect, it, vi } from "vitest";
import { now, setClock } from "./clock";

afterEach(() => {
  setClock(new Date().toUTCString());
  vi.useRealTimers();
});

it("uses the server's clock, not a wrong browser clock", () => {
  vi.useFakeTimers({ now: Date.parse("2026-11-17T12:00:00Z") });
  expect(now()).toBe(Date.now());
  setClock("Tue, 17 Nov 2026 12:05:00 GMT");
  expect(new Date(now()).toISOString()).toBe("2026-11-17T12:05:00.000Z");
  vi.advanceTimersByTime(2_000);
  expect(new Date(now()).toISOString()).toBe("2026-11-17T12:05:02.000Z");
  // The latency of a response is not a clock difference, and a missing date changes nothing.
  setClock("Tue, 17 Nov 2026 12:00:01 GMT");
  expect(now()).toBe(Date.now());
  setClock(null);
  setClock("soon");
  expect(now()).toBe(Date.now());
});
