// JSON pointers. Updates are immutable and keep the identity of every untouched value, so fields
// can skip rerendering.

import type { Json } from "./values";
import { t } from "../strings";

export const partsOf = (pointer: string): string[] =>
  pointer.split("/").slice(1).map((one) => one.replaceAll("~1", "/").replaceAll("~0", "~"));

export const under = (pointer: string, ...parts: (string | number)[]): string =>
  [pointer, ...parts.map((one) => String(one).replaceAll("~", "~0").replaceAll("/", "~1"))].join(
    "/",
  );

export const above = (pointer: string): string =>
  pointer.slice(0, Math.max(0, pointer.lastIndexOf("/")));

export const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === "object" && !Array.isArray(value);

const isIndex = (part: string) => /^[0-9]{1,6}$/.test(part);

/** The value at a pointer; undefined if there is none. */
export function valueAt(document: unknown, pointer: string): unknown {
  let value = document;
  for (const part of partsOf(pointer)) {
    if (Array.isArray(value) && isIndex(part)) value = value[Number(part)];
    else if (isObject(value) && Object.hasOwn(value, part)) value = value[part];
    else return undefined;
  }
  return value;
}

/** The document with the value set at a pointer, or removed if undefined. */
export function setAt(document: unknown, pointer: string, value: unknown): unknown {
  return putAt(document, partsOf(pointer), value);
}

function putAt(holder: unknown, [part, ...rest]: string[], value: unknown): unknown {
  if (part === undefined) return value;
  if (Array.isArray(holder) && isIndex(part)) {
    const field = [...holder];
    if (rest.length || value !== undefined) {
      field[Number(part)] = putAt(field[Number(part)], rest, value);
    } else field.splice(Number(part), 1);
    return field;
  }
  const before = isObject(holder) ? holder : {};
  const inner = rest.length ? putAt(own(before, part), rest, value) : value;
  if (inner !== undefined && Object.hasOwn(before, part)) {
    // The key keeps its position.
    return Object.fromEntries(
      Object.entries(before).map(([key, one]) => [key, key === part ? inner : one]),
    );
  }
  const others = Object.entries(before).filter(([key]) => key !== part);
  return Object.fromEntries(inner === undefined ? others : [...others, [part, inner]]);
}

const own = (holder: Json, key: string) => (Object.hasOwn(holder, key) ? holder[key] : undefined);

/** Renames a key and keeps its position. */
export function renameKey(holder: Json, from: string, to: string): Json {
  return Object.fromEntries(
    Object.entries(holder).map(([key, one]) => [key === from ? to : key, one]),
  );
}

export function moveItem<T>(list: readonly T[], from: number, to: number): T[] {
  const field = [...list];
  field.splice(to, 0, ...field.splice(from, 1));
  return field;
}

/** Equal as JSON, regardless of key order. */
export function isEqualJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((inner, at) => isEqualJson(inner, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqualJson(one[key], other[key]));
}

/** A pointer as text: "step post, channel". */
export function describePointer(document: unknown, pointer: string): string {
  const parts = partsOf(pointer);
  const [list, number, ...inner] = parts;
  const names = inner.filter((one) => one !== "config").map((one) => one.replaceAll("_", " "));
  if (number !== undefined && (list === "plan" || list === "triggers")) {
    const holder = valueAt(document, under("", list, number));
    const named = isObject(holder) ? holder.step_id ?? holder.id ?? holder.type : undefined;
    const what = list === "plan" ? "step" : "trigger";
    return [`${what} ${typeof named === "string" ? named : Number(number) + 1}`, ...names].join(
      ", ",
    );
  }
  return parts.length
    ? parts.map((one) => one.replaceAll("_", " ")).join(", ")
    : t.form.theDefinition;
}
