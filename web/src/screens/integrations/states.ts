// The health of a connection as text; those that need attention come first.

import type { Answer } from "../../api/client";

export type Integration = Answer<"list_integrations">["integrations"][number];

const STATES: Record<Integration["state"], { label: string; status: string }> = {
  ready: { label: "connected", status: "connected" },
  reconnect: { label: "connect it again", status: "broken" },
  not_connected: { label: "not connected", status: "quiet" },
  not_needed: { label: "needs no connection", status: "connected" },
  operator: { label: "not set up by the operator", status: "quiet" },
  secret_missing: { label: "needs a secret", status: "quiet" },
};
export const stateOf = (one: Integration) => STATES[one.state];

const HEALTH = {
  ok: "works",
  failing: "fails at the moment",
  reconnect: "is not let in",
  unknown: "not used yet",
} as const;
export const describeHealth = (one: Integration) =>
  one.connection ? HEALTH[one.connection.health] : "";

/** The operations that it offers. */
export function abilities({ supports, polls }: Integration): string {
  const text = [
    supports.fetch || polls ? "reads" : "",
    supports.act ? "writes" : "",
    supports.adapter ? "fills boards" : "",
  ].filter(Boolean);
  return text.join(", ") || "sign-in only";
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
    { label: "Connect again", entries: of("reconnect") },
    { label: "Connected", entries: of("ready") },
    { label: "To connect", entries: of("not_connected", "secret_missing") },
    { label: "Need no account", entries: of("not_needed") },
    { label: "For the operator to set up", entries: of("operator") },
  ].filter(({ entries }) => entries.length);
}
