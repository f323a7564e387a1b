// What recipes are and where that which they made is looked at.

import type { Answer } from "../../api/client";

export type Recipe = Answer<"list_starter_recipes">["recipes"][number];
export type Install = Answer<"list_installs">["installs"][number];
export type Gone = Answer<"list_uninstalled">["uninstalled"][number];

export const KINDS = ["automation", "integration", "workflow", "board", "bundle"] as const;

const PLACES: Record<string, string> = {
  automation: "/automations",
  board: "/boards",
  workflow: "/workflows",
};

/** The screen of what was installed; a bundle has none of its own. */
export const placeOf = (one: { kind: string; id: string }): string | null =>
  PLACES[one.kind] ? `${PLACES[one.kind]}/${one.id}` : null;

/** What is filled in at the install, as a word: a setting by its name. */
export const spelt = (text: string): string =>
  text.replace(
    /\{\{\s*install\.(?:settings\.)?([a-z0-9_.]+)\s*\}\}/g,
    (_, message: string) => `<${message.replaceAll(".", " ")}>`,
  );

export type Setting = {
  name: string;
  label?: string;
  type?: "string" | "number" | "boolean";
  default?: string | number | boolean;
  required?: boolean;
};
export type Value = string | number | boolean;

/** What a form begins with: what the recipe says, else nothing. */
export const beginnings = (settings: Setting[]): Record<string, Value> =>
  Object.fromEntries(
    settings.map((one) => [one.name, one.default ?? (one.type === "boolean" ? false : "")]),
  );

/** What is sent: a field that was left empty is left to the recipe. */
export function filled(settings: Setting[], values: Record<string, Value>): Record<string, Value> {
  const sent: Record<string, Value> = {};
  for (const { name, type } of settings) {
    const value = values[name] ?? "";
    if (type === "boolean") sent[name] = value === true;
    else if (value !== "") sent[name] = type === "number" ? Number(value) : value;
  }
  return sent;
}

/** The same value with its fields in one order, so that only what differs is seen to differ. */
export function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).sort(([one], [two]) => one < two ? -1 : 1);
  return Object.fromEntries(fields.map(([name, held]) => [name, ordered(held)]));
}
