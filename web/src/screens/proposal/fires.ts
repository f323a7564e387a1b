// When its schedules would start it next, worked out before it is active.

import { nextMoments, readCron, wallClock, wallWords } from "../../form/cron";
import { isObject } from "../../form/pointers";

const MOST = 3;

/** The next moments on the clock of each schedule's own zone; nothing where a line is not understood. */
export function firesOf(definition: unknown, now = new Date()): string[] {
  const triggers = isObject(definition) && Array.isArray(definition.triggers)
    ? definition.triggers
    : [];
  return triggers.flatMap((one) => {
    if (!isObject(one) || one.type !== "schedule" || one.enabled === false) return [];
    const { cron, timezone } = isObject(one.config) ? one.config : {} as Record<string, unknown>;
    if (typeof cron !== "string" || typeof timezone !== "string") return [];
    const read = readCron(cron);
    const clock = wallClock(timezone, now);
    if (!read || !clock) return [];
    return nextMoments(read, clock, MOST).map((moment) => `${wallWords(moment)}, ${timezone}`);
  });
}
