// Editing a draft: the field texts, the changes, and the diff.

import { parseJson } from "../../form/text";
import { type Fields, fieldsOf } from "../../previews/shape";
import type { Draft } from "./items";

export type Change = { name: string; before: unknown; after: unknown };

const isList = (given: unknown): given is string[] =>
  Array.isArray(given) && given.every((one) => typeof one === "string");
const isPlain = (given: unknown) =>
  given === undefined || given === null || typeof given === "string";

/** A value as field text. */
export function formatValue(given: unknown): string {
  if (isPlain(given)) return String(given ?? "");
  return isList(given) ? given.join(", ") : JSON.stringify(given, null, 2);
}

// Fields that hold a list even if this draft has none.
const LISTS = new Set(["to", "cc", "bcc", "attendees", "labels", "assignees"]);

/** The input in the type of the field; an empty field is removed. */
export function parseValue(text: string, before: unknown, name = ""): unknown {
  if (text.trim() === "") return null;
  if (isList(before) || (isPlain(before) && typeof before !== "string" && LISTS.has(name))) {
    return text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean);
  }
  if (isPlain(before)) return text;
  const found = parseJson(text);
  if ("problem" in found) throw new Error(found.problem);
  return found.value;
}

/** The changed fields; throws if one of them is no longer JSON. */
export function changesOf(before: Fields, written: Record<string, string>): Change[] {
  return Object.entries(written)
    .filter(([name, text]) => text !== formatValue(before[name]))
    .map(([name, text]) => ({
      name,
      before: before[name],
      after: parseValue(text, before[name], name),
    }));
}

export const editsOf = (changes: Change[]): Record<string, unknown> =>
  Object.fromEntries(changes.map(({ name, after }) => [name, after]));

export function writtenOf(draft: Draft): Record<string, string> {
  const fields = fieldsOf(draft);
  return Object.fromEntries(draft.editable.map((name) => [name, formatValue(fields[name])]));
}

/** The draft with these changes. */
export function applyChanges(draft: Draft, changes: Change[]): Draft {
  const fields: Fields = { ...fieldsOf(draft), ...editsOf(changes) };
  for (const { name, after } of changes) if (after === null) delete fields[name];
  const all = draft.within && fieldsOf(draft) !== draft.arguments
    ? { ...draft.arguments, [draft.within]: fields }
    : fields;
  return { ...draft, arguments: all };
}

export type Piece = { text: string; side: "same" | "out" | "in" };

/** A word diff of two texts: kept, removed and added parts. */
export function pieces(before: string, after: string): Piece[] {
  const old = before.match(/\s+|[^\s]+/g) ?? [];
  const now = after.match(/\s+|[^\s]+/g) ?? [];
  if (old.length * now.length > 400_000) return bluntly(before, after);
  const table = lengths(old, now);
  const found: Piece[] = [];
  const put = (text: string, side: Piece["side"]) => {
    const last = found.at(-1);
    if (last?.side === side) last.text += text;
    else found.push({ text, side });
  };
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      put(old[i]!, "same");
      i += 1;
      j += 1;
    } else if (i < old.length && (j >= now.length || table[i + 1]![j]! >= table[i]![j + 1]!)) {
      put(old[i]!, "out");
      i += 1;
    } else {
      put(now[j]!, "in");
      j += 1;
    }
  }
  return found;
}

const bluntly = (before: string, after: string): Piece[] => [
  { text: before, side: "out" },
  { text: after, side: "in" },
];

/** The lengths of the longest common subsequences from each pair of positions. */
function lengths(old: string[], now: string[]): Uint32Array[] {
  const table = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      table[i]![j] = old[i] === now[j]
        ? table[i + 1]![j + 1]! + 1
        : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  return table;
}

/** The differences between two revisions of one draft. */
export function differences(before: Draft, now: Draft): Change[] {
  const [old, fresh] = [fieldsOf(before), fieldsOf(now)];
  const names = new Set([...Object.keys(old), ...Object.keys(fresh)]);
  return [...names]
    .filter((name) => JSON.stringify(old[name]) !== JSON.stringify(fresh[name]))
    .map((name) => ({ name, before: old[name], after: fresh[name] }));
}
