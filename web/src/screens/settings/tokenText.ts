// Token expiry, and an example request.

import type { Schemas } from "../../api/client";
import { formatDate, formatRelative } from "../../kit/format";
import { t } from "../../strings";

export type Token = Schemas["TokenShape"];

const DAY = 24 * 60 * 60 * 1000;

export const LASTING = [
  { value: "30", label: t.settings.in30Days },
  { value: "90", label: t.settings.in90Days },
  { value: "365", label: t.settings.inAYear },
  { value: "never", label: t.settings.whenYouRevokeIt },
];

export const endsAt = (days: string, now = Date.now()): string | null =>
  Number(days) ? new Date(now + Number(days) * DAY).toISOString() : null;

export const isAlive = (token: Pick<Token, "revoked_at" | "expires_at">, now = Date.now()) =>
  !token.revoked_at && !(token.expires_at && Date.parse(token.expires_at) <= now);

export function describeToken(token: Token): string {
  const ends = token.expires_at
    ? t.settings.until2(formatDate(token.expires_at))
    : t.settings.untilRevoked;
  const used = token.last_used_at
    ? t.settings.lastUsed(formatRelative(token.last_used_at))
    : t.settings.neverUsed;
  const calls = token.capabilities ? t.settings.capabilityOnly(token.capabilities.length) : "";
  return `…${token.hint} · ${ends} · ${used}${calls}`;
}

export const tryIt = (text: string, origin: string) =>
  `curl -H 'Authorization: Bearer ${text}' ${origin}/api/v1/automations`;
