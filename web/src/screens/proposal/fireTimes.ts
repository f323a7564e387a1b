// The next fire times of its schedules, computed before it is active.

import { formatLocalTime, localTime, nextFireTimes, parseCron } from "../../form/cron";
import { isObject } from "../../form/pointers";

const MOST = 3;

/** The next fire times in each schedule's time zone; empty if an expression is not supported. */
export function nextFires(definition: unknown, now = new Date()): string[] {
  const triggers = isObject(definition) && Array.isArray(definition.triggers)
    ? definition.triggers
    : [];
  return triggers.flatMap((one) => {
    if (!isObject(one) || one.type !== "schedule" || one.enabled === false) return [];
    const { cron, timezone } = isObject(one.config) ? one.config : {} as Record<string, unknown>;
    if (typeof cron !== "string" || typeof timezone !== "string") return [];
    const read = parseCron(cron);
    const clock = localTime(timezone, now);
    if (!read || !clock) return [];
    return nextFireTimes(read, clock, MOST).map((time) => `${formatLocalTime(time)}, ${timezone}`);
  });
}
