// The filters of the audit log, in the URL and in the request.

export type AuditFilters = { action?: string; actor?: string; from?: string; to?: string };

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The start of a day in the user's time zone, shifted by a number of days. */
function startOfDay(day: string | undefined, later = 0): string | undefined {
  if (!day || !DAY.test(day)) return undefined;
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + later);
  return at.toISOString();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The last day is included; unknown values are not sent. */
export function toQuery({ action, actor, from, to }: AuditFilters): Record<string, string> {
  const query = {
    action,
    actor: actor && UUID.test(actor) ? actor : undefined,
    since: startOfDay(from),
    before: startOfDay(to, 1),
  };
  return Object.fromEntries(
    Object.entries(query).filter((one): one is [string, string] => Boolean(one[1])),
  );
}
