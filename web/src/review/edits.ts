// The way from one definition to another, as values at places: what a person wrote is sent, kept
// and put back as edits, so that nothing else of the document is touched.

import { isObject, partsOf, put, same, under, valueAt } from "../form/pointers";
import type { Definition } from "./reading";

const MOST_EDITS = 200;

export type Edit = { pointer: string; value?: unknown; remove?: true };

/** What leads from one document to the other: values at places, and places that are taken out. */
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
  return same(before, after) ? [] : [{ pointer: at, value: after }];
}

/** The same as a request has it; a document that became quite another one goes whole. */
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

/** A document with edits put into it; those whose place is gone are told apart. */
export function withEdits(document: Definition, edits: Edit[]): { made: Definition; lost: Edit[] } {
  let made: unknown = document;
  const lost: Edit[] = [];
  for (const edit of edits) {
    if (edit.pointer && !holds(made, edit.pointer)) lost.push(edit);
    else {made = edit.pointer
        ? put(made, edit.pointer, edit.remove ? undefined : edit.value)
        : edit.value;}
  }
  return { made: made as Definition, lost };
}
