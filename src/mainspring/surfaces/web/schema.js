// What a JSON Schema says about one field: what kind of field it is, and what it is called.

import { isObject, valueAt } from "./pointers.js";
import { capital, plain } from "./words.js";

// Texts that may be longer than this are written in a larger field.
const ONE_LINE = 300;
const DEEPEST = 8;

export const isTemplate = (value) => typeof value === "string" && /\{\{|\{%/.test(value);
export const isSteps = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((one) => isObject(one) && typeof one.action === "string");

// A schema without its references, and without "or nothing".
export function settled(schema, root) {
  let found = isObject(schema) ? schema : {};
  for (let depth = 0; depth < DEEPEST; depth += 1) {
    const { $ref, anyOf, oneOf, ...rest } = found;
    const some = anyOf || oneOf;
    const real = Array.isArray(some) ? some.filter((one) => one.type !== "null") : [];
    if (typeof $ref === "string" && $ref.startsWith("#/")) {
      found = { ...valueAt(root, $ref.slice(1)), ...rest };
    } else if (real.length === 1) {
      found = { ...real[0], ...rest };
    } else if (real.length && real.every((one) => ["number", "string"].includes(one.type))) {
      return { ...rest, type: "number", "x-mainspring-widget": "money" };
    } else {
      break;
    }
  }
  return found;
}

function typeOf(schema, value) {
  if (typeof schema.type === "string") return schema.type;
  const types = Array.isArray(schema.type) ? schema.type.filter((one) => one !== "null") : [];
  if (types.length === 1) return types[0];
  if (types.includes("string") && typeof value === "string") return "string";
  return types.length ? "any" : typeof value === "string" ? "string" : "any";
}

const FITS = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => ["number", "string"].includes(typeof value),
  number: (value) => ["number", "string"].includes(typeof value),
  array: (value) => Array.isArray(value),
  object: isObject,
};

const TEXTS = { jinja: "code", typescript: "code", textarea: "text" };

function kindOfText(schema, value) {
  if (schema.format === "iana-timezone") return "zone";
  const widget = TEXTS[schema["x-mainspring-widget"]];
  if (widget) return widget;
  if (schema["x-mainspring-scope"] === "secret") return "code";
  const long = typeof value === "string" && (value.length > 80 || value.includes("\n"));
  return long || schema.maxLength > ONE_LINE ? "text" : "line";
}

// The kind of field for a value: choice, yes, number, zone, line, text, code, lines, group, steps
// or json, which takes everything.
export function kindOf(schema, value, root) {
  if (isTemplate(value)) return "code";
  if (isSteps(value)) return "steps";
  const plainChoices = Array.isArray(schema.enum) && schema.enum.every((one) => !isObject(one));
  if (plainChoices && (value === undefined || schema.enum.includes(value))) return "choice";
  const type = typeOf(schema, value);
  if (type === "any") return "json";
  if (value !== undefined && value !== null && !FITS[type]?.(value)) return "json";
  if (type === "string") return kindOfText(schema, value);
  if (type === "boolean") return "yes";
  if (type === "integer" || type === "number") return "number";
  if (type === "object") return Object.keys(schema.properties || {}).length ? "group" : "json";
  const item = settled(schema.items, root);
  const texts = (value ?? []).every((one) => typeof one === "string");
  return texts && typeOf(item, "") === "string" ? "lines" : "json";
}

export const titleOf = (name, schema) => (schema.title ? schema.title : capital(plain(name)));

// What a person wrote as the value it stands for; undefined: nothing.
export function readNumber(text, asText) {
  const spelt = text.trim();
  if (!spelt) return undefined;
  const isNumber = /^-?[0-9]+(\.[0-9]+)?$/.test(spelt);
  return isNumber && !asText ? Number(spelt) : spelt;
}

export const readLines = (text) => {
  const lines = text.split("\n").map((one) => one.trim()).filter(Boolean);
  return lines.length ? lines : undefined;
};
