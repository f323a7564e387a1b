// The kinds of recipes, and the screens of what they install.

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

/** The screen of the installed object; a bundle has none. */
export const placeOf = (one: { kind: string; id: string }): string | null =>
  PLACES[one.kind] ? `${PLACES[one.kind]}/${one.id}` : null;

/** Replaces install-time template expressions with the names of their settings. */
export const showPlaceholders = (text: string): string =>
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

/** The initial value of a form field: the recipe's default, otherwise empty. */
export const beginnings = (settings: Setting[]): Record<string, Value> =>
  Object.fromEntries(
    settings.map((one) => [one.name, one.default ?? (one.type === "boolean" ? false : "")]),
  );

/** The request body: empty fields are left to the recipe. */
export function initialValues(
  settings: Setting[],
  values: Record<string, Value>,
): Record<string, Value> {
  const sent: Record<string, Value> = {};
  for (const { name, type } of settings) {
    const value = values[name] ?? "";
    if (type === "boolean") sent[name] = value === true;
    else if (value !== "") sent[name] = type === "number" ? Number(value) : value;
  }
  return sent;
}

/** The value with its keys sorted, so that a diff shows real differences only. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).sort(([one], [two]) => one < two ? -1 : 1);
  return Object.fromEntries(fields.map(([name, held]) => [name, sortKeys(held)]));
}
