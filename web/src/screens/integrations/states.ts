// The health of a connection as text; those that need attention come first.

import type { Answer } from "../../api/client";
import { t } from "../../strings";

export type Integration = Answer<"list_integrations">["integrations"][number];

const STATES: Record<Integration["state"], { label: string; status: string }> = {
  ready: { label: t.integrations.connected, status: "connected" },
  reconnect: { label: t.integrations.reconnect, status: "broken" },
  not_connected: { label: t.integrations.notConnected, status: "quiet" },
  not_needed: { label: t.integrations.needsNoConnection, status: "connected" },
  operator: { label: t.integrations.notConfiguredByTheOperator, status: "quiet" },
  secret_missing: { label: t.integrations.needsASecret, status: "quiet" },
};
export const stateOf = (one: Integration) => STATES[one.state];

const HEALTH = {
  ok: t.integrations.working,
  failing: t.integrations.failing,
  reconnect: t.integrations.accessDenied,
  unknown: t.integrations.notUsedYet,
} as const;
export const describeHealth = (one: Integration) =>
  one.connection ? HEALTH[one.connection.health] : "";

/** The operations that it offers. */
export function abilities({ supports, polls }: Integration): string {
  const text = [
    supports.fetch || polls ? t.integrations.reads : "",
    supports.act ? "writes" : "",
    supports.adapter ? t.integrations.fillsBoards : "",
  ].filter(Boolean);
  return text.join(", ") || t.integrations.signInOnly;
}

export type IntegrationGroup = { label: string; entries: Integration[] };

/** Three groups: needs attention, connected, available. */
export function groupByState(all: Integration[], search: string): IntegrationGroup[] {
  const needle = search.trim().toLowerCase();
  const fits = (one: Integration) =>
    `${one.label} ${one.description} ${one.name}`.toLowerCase().includes(needle);
  const of = (...states: Integration["state"][]) =>
    all.filter((one) => states.includes(one.state) && fits(one));
  return [
    { label: t.integrations.reconnect2, entries: of("reconnect") },
    { label: t.integrations.connected2, entries: of("ready") },
    { label: t.integrations.available, entries: of("not_connected", "secret_missing") },
    { label: t.integrations.noAccountNeeded, entries: of("not_needed") },
    { label: t.integrations.notConfigured, entries: of("operator") },
  ].filter(({ entries }) => entries.length);
}
