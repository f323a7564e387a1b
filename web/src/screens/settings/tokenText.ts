// Token expiry, and an example request.

import type { Schemas } from "../../api/client";
import { formatCount, formatDate, formatRelative } from "../../kit/format";

export type Token = Schemas["TokenShape"];

const DAY = 24 * 60 * 60 * 1000;

export const LASTING = [
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "never", label: "When it is revoked" },
];

export const endsAt = (days: string, now = Date.now()): string | null =>
  Number(days) ? new Date(now + Number(days) * DAY).toISOString() : null;

export const isAlive = (token: Pick<Token, "revoked_at" | "expires_at">, now = Date.now()) =>
  !token.revoked_at && !(token.expires_at && Date.parse(token.expires_at) <= now);

export function describeToken(token: Token): string {
  const ends = token.expires_at ? `until ${formatDate(token.expires_at)}` : "until revoked";
  const used = token.last_used_at
    ? `last used ${formatRelative(token.last_used_at)}`
    : "never used";
  const calls = token.capabilities
    ? ` · ${formatCount(token.capabilities.length, "capability", "capabilities")} only`
    : "";
  return `…${token.hint} · ${ends} · ${used}${calls}`;
}

export const tryIt = (text: string, origin: string) =>
  `curl -H 'Authorization: Bearer ${text}' ${origin}/api/v1/automations`;
