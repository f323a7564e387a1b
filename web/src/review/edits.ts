// The difference of two definitions as edits by pointer: a user's changes are sent, stored and
// restored as edits, so that the rest of the document is untouched.

import { isEqualJson, isObject, partsOf, setAt, under, valueAt } from "../form/pointers";
import type { Definition } from "./reviewText";

const MOST_EDITS = 200;

export type Edit = { pointer: string; value?: unknown; remove?: true };

/** The edits from one document to another: values to set and pointers to remove. */
export function editsBetween(before: unknown, after: unknown, at = ""): Edit[] {
  if (before === after) return [];
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name): Edit[] => {
      const place = under(at, name);
      if (!Object.hasOwn(after, name)) return [{ pointer: place, remove: true }];
      if (!Object.hasOwn(before, name)) return [{ pointer: place, value: after[name] }];
      return editsBetween(before[name], after[name], place);
    });
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((one, place) => editsBetween(one, after[place], under(at, place)));
  }
  return isEqualJson(before, after) ? [] : [{ pointer: at, value: after }];
}

/** The edits as a request body; a completely different document is sent whole. */
export function asRequest(
  edits: Edit[],
  after: Definition,
): { edits?: Edit[]; definition?: Definition } {
  if (!edits.length) return {};
  const whole = edits.length > MOST_EDITS || edits.some((one) => one.pointer === "");
  return whole ? { definition: after } : { edits };
}

const holds = (document: unknown, pointer: string): boolean => {
  const parts = partsOf(pointer);
  const above = under("", ...parts.slice(0, -1));
  const holder = valueAt(document, parts.length > 1 ? above : "");
  return isObject(holder) || Array.isArray(holder);
};

/** Applies edits to a document; those whose pointer no longer exists are returned separately. */
export function withEdits(document: Definition, edits: Edit[]): { made: Definition; lost: Edit[] } {
  let made: unknown = document;
  const lost: Edit[] = [];
  for (const edit of edits) {
    if (edit.pointer && !holds(made, edit.pointer)) lost.push(edit);
    else {made = edit.pointer
        ? setAt(made, edit.pointer, edit.remove ? undefined : edit.value)
        : edit.value;}
  }
  return { made: made as Definition, lost };
}
