// Places in a definition: JSON pointers, what stands there, and the way from one document to
// another as edits. Nothing is changed where it stands.

const MOST_EDITS = 200;

export const partsOf = (pointer) =>
  pointer.split("/").slice(1).map((one) => one.replaceAll("~1", "/").replaceAll("~0", "~"));

export const under = (pointer, ...parts) =>
  [pointer, ...parts.map((one) => String(one).replaceAll("~", "~0").replaceAll("/", "~1"))].join("/");

export const above = (pointer) => pointer.slice(0, Math.max(0, pointer.lastIndexOf("/")));

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isIndex = (part) => /^[0-9]{1,6}$/.test(part);

// What stands there; undefined when nothing does.
export function valueAt(document, pointer) {
  let value = document;
  for (const part of partsOf(pointer)) {
    const there = Array.isArray(value) ? isIndex(part) : isObject(value);
    if (!there || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

// The document with a value at a place, or without one if it is undefined.
export function put(document, pointer, value) {
  return putAt(document, partsOf(pointer), value);
}

function putAt(holder, [part, ...rest], value) {
  if (part === undefined) return value;
  if (Array.isArray(holder)) {
    const made = [...holder];
    if (rest.length || value !== undefined) made[part] = putAt(made[part], rest, value);
    else made.splice(Number(part), 1);
    return made;
  }
  const entries = new Map(Object.entries(isObject(holder) ? holder : {}));
  const inner = rest.length ? putAt(entries.get(part), rest, value) : value;
  if (inner === undefined) entries.delete(part);
  else entries.set(part, inner);
  return Object.fromEntries(entries);
}

export const same = (one, other) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.keys(value).sort().map((key) => [key, sorted(value[key])]);
}

// What leads from one document to the other: values at places, and places that are taken out.
export function editsBetween(before, after, at = "") {
  if (same(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => {
      const place = under(at, name);
      if (!Object.hasOwn(after, name)) return [{ pointer: place, remove: true }];
      if (!Object.hasOwn(before, name)) return [{ pointer: place, value: after[name] }];
      return editsBetween(before[name], after[name], place);
    });
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((one, place) => editsBetween(one, after[place], under(at, place)));
  }
  return [{ pointer: at, value: after }];
}

// The same as a request has it; a document that became quite another one goes whole.
export function asRequest(edits, after) {
  if (!edits.length) return {};
  return edits.length > MOST_EDITS ? { definition: after } : { edits };
}
