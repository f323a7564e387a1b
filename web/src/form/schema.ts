// How a JSON Schema maps to a form field: its kind and its label. A value that does not match its
// schema is shown as JSON.

import { isInexact } from "../kit/exactJson";
import { capitalize, humanize } from "../kit/format";
import { isObject, valueAt } from "./pointers";
import type { Json, Schema } from "./values";
import { t } from "../strings";

const DEEPEST = 8;
const ONE_LINE = 300;

export type Kind =
  | "choice"
  | "yes"
  | "number"
  | "zone"
  | "cron"
  | "picked"
  | "line"
  | "text"
  | "template"
  | "typescript"
  | "choices"
  | "list"
  | "steps"
  | "group"
  | "map"
  | "variants"
  | "json";

export const isTemplate = (value: unknown): value is string =>
  typeof value === "string" && /\{\{|\{%/.test(value);

export const isSteps = (value: unknown): value is Json[] =>
  Array.isArray(value) && value.length > 0 &&
  value.every((one) => isObject(one) && typeof one.action === "string");

/** The form hints of a schema; definitions from outside use the second spelling. */
export const hint = (schema: Schema, name: "widget" | "source" | "says"): unknown =>
  schema[`x-mainspring-${name}`] ?? schema[`x-surfsense-${name}`];

const isNull = (schema: Schema) => schema?.type === "null";
const saysShape = (schema: Schema) =>
  isObject(schema) &&
  ["type", "properties", "enum", "const", "$ref", "anyOf", "oneOf", "items"].some((one) =>
    one in schema
  );

/** The schema with references resolved and null removed; keywords next to a $ref win. */
export function resolveSchema(given: unknown, root: Schema): Schema {
  let found: Schema = isObject(given) ? given : {};
  for (let depth = 0; depth < DEEPEST; depth += 1) {
    const { $ref, anyOf, oneOf, ...rest } = found;
    const some = (anyOf ?? oneOf) as Schema[] | undefined;
    const real = Array.isArray(some) ? some.filter((one) => !isNull(one)) : [];
    if (typeof $ref === "string" && $ref.startsWith("#")) {
      found = { ...(valueAt(root, $ref.slice(1)) as Schema | undefined), ...rest };
    } else if (real.length === 1 && real.length < (some?.length ?? 0)) {
      found = { ...real[0], ...rest };
    } else if (real.length === 1 && saysShape(real[0]!)) {
      found = { ...real[0], ...rest };
    } else if (
      Array.isArray(found.allOf) && found.allOf.length === 1 && saysShape(found.allOf[0])
    ) {
      const { allOf, ...others } = found;
      found = { ...allOf[0], ...others };
    } else break;
  }
  return found;
}

const cache = new WeakMap<object, Schema>();
/** The same, memoized per schema: fields compare schemas by identity. */
export function resolveSchemaOnce(given: unknown, root: Schema): Schema {
  if (!isObject(given)) return {};
  const known = cache.get(given);
  if (known) return known;
  const field = resolveSchema(given, root);
  cache.set(given, field);
  return field;
}

/** The variants of a union that differ in more than a limit; empty if there are none. */
export function variantsOf(schema: Schema, root: Schema): Schema[] {
  const some = (schema.oneOf ?? schema.anyOf) as Schema[] | undefined;
  if (!Array.isArray(some)) return [];
  const real = some.filter((one) => !isNull(one)).map((one) => resolveSchemaOnce(one, root));
  return real.length > 1 && real.every(saysShape) ? real : [];
}

/** The discriminator: the key whose constant differs between the variants. */
export function tagOf(schema: Schema, variants: Schema[]): string | null {
  const named = schema.discriminator?.propertyName;
  if (typeof named === "string") return named;
  const keys = Object.keys(variants[0]?.properties ?? {});
  const constant = (one: Schema, key: string) => one.properties?.[key]?.const !== undefined;
  return keys.find((key) => variants.every((one) => constant(one, key))) ?? null;
}

/** The index of the variant that a value matches; -1: none. */
export function variantAt(schema: Schema, variants: Schema[], value: unknown): number {
  const tag = tagOf(schema, variants);
  if (tag !== null) {
    if (!isObject(value)) return -1;
    return variants.findIndex((one) => one.properties?.[tag]?.const === value[tag]);
  }
  const fitting = variants.findIndex((one) => fits(one, value) && hasRequired(one, value));
  return fitting >= 0 ? fitting : variants.findIndex((one) => fits(one, value));
}

const hasRequired = (schema: Schema, value: unknown) =>
  !isObject(value) || ((schema.required ?? []) as string[]).every((key) => key in value);

export function variantTitle(schema: Schema, tag: string | null): string {
  const constant = tag ? schema.properties?.[tag]?.const : schema.const;
  if (schema.title) return String(schema.title);
  if (constant !== undefined) return capitalize(humanize(String(constant)));
  const kinds: Record<string, string> = {
    string: t.form.text,
    object: t.form.object,
    array: t.form.list,
    boolean: t.form.yesOrNo,
  };
  return kinds[typesOf(schema)[0] ?? ""] ?? t.form.number;
}

export function typesOf(schema: Schema): string[] {
  const type = schema.type;
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((one) => one !== "null");
  if (schema.properties) return ["object"];
  return [];
}

const TYPES: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => typeof value === "number",
  number: (value) => typeof value === "number",
  array: Array.isArray,
  object: isObject,
};

/** Whether a value roughly matches this schema. */
export function fits(schema: Schema, value: unknown): boolean {
  if (schema.const !== undefined) return schema.const === value;
  if (Array.isArray(schema.enum)) return schema.enum.includes(value);
  const types = typesOf(schema);
  return !types.length || types.some((one) => TYPES[one]?.(value));
}

const PICKED: Record<string, string> = {
  date: "date",
  time: "time",
  email: "email",
  "idn-email": "email",
  uri: "url",
};
/** The HTML input type for a format. */
export const pickedType = (schema: Schema): string | undefined => PICKED[schema.format];

const isMoney = (schema: Schema) => hint(schema, "widget") === "money";

function kindOfText(schema: Schema, value: unknown, templated: boolean): Kind {
  const widget = hint(schema, "widget");
  if (schema.format === "iana-timezone") return "zone";
  if (schema.format === "cron") return "cron";
  if (widget === "typescript") return "typescript";
  if (widget === "jinja") return "template";
  if (templated) return "template";
  if (widget === "textarea") return "text";
  if (pickedType(schema)) return "picked";
  const long = typeof value === "string" && (value.length > 80 || value.includes("\n"));
  return long || schema.maxLength > ONE_LINE ? "text" : "line";
}

function kindOfObject(schema: Schema, value: unknown): Kind {
  if (hint(schema, "widget") === "json-schema") return "json";
  if (Object.keys(schema.properties ?? {}).length) return "group";
  const inner = schema.additionalProperties;
  const values = Object.values((value ?? {}) as Json);
  if (isObject(inner)) return values.every((one) => fits(inner, one)) ? "map" : "json";
  const flat = values.every((one) => one === null || typeof one !== "object");
  return flat && inner !== undefined && inner !== false ? "map" : "json";
}

function kindOfList(name: string, schema: Schema, value: unknown, root: Schema): Kind {
  const items = resolveSchemaOnce(schema.items, root);
  if (schema.items === undefined) return name === "steps" ? "steps" : "json";
  if (items.title === "Step" && items["properties"]?.action) return "steps";
  const known = (value ?? []) as unknown[];
  if (
    Array.isArray(items.enum) &&
    known.every((one) => typeof one === "string" && items.enum.includes(one))
  ) {
    return "choices";
  }
  return saysShape(items) ? "list" : "json";
}

type Asked = { name: string; schema: Schema; value: unknown; root: Schema; templated: boolean };

/** The kind of field for a value. A value that does not match is shown as JSON. */
export function kindOf({ name, schema, value, root, templated }: Asked): Kind {
  if (isTemplate(value) && templated && hint(schema, "widget") !== "typescript") {
    return "template";
  }
  if (isSteps(value)) return "steps";
  if (value === null) return "json";
  if (schema.const !== undefined) {
    return value === undefined || value === schema.const ? "choice" : "json";
  }
  if (Array.isArray(schema.enum)) {
    return value === undefined || schema.enum.includes(value) ? "choice" : "json";
  }
  if (isMoney(schema)) return typeof value === "object" ? "json" : "number";
  if (variantsOf(schema, root).length) return "variants";
  const types = typesOf(schema);
  if (types.length > 1) return kindOfMixed(types, schema, value, templated);
  const [type] = types;
  if (type === undefined) return templated && typeof value === "string" ? "template" : "json";
  if (value !== undefined && !TYPES[type]?.(value)) return "json";
  if (type === "string") return kindOfText(schema, value, templated);
  if (type === "boolean") return "yes";
  if (type === "integer" || type === "number") return "number";
  return type === "object" ? kindOfObject(schema, value) : kindOfList(name, schema, value, root);
}

function kindOfMixed(types: string[], schema: Schema, value: unknown, templated: boolean): Kind {
  if (types.includes("string") && (value === undefined || typeof value === "string")) {
    return templated ? "template" : "line";
  }
  if (isObject(value) && types.includes("object")) return kindOfObject(schema, value);
  return "json";
}

const SMALL: ReadonlySet<Kind> = new Set(["choice", "yes", "number", "zone", "line", "picked"]);
/** Small fields are placed side by side. */
export const isSmall = (kind: Kind) => SMALL.has(kind);

export const titleOf = (name: string, schema: Schema): string =>
  typeof schema.title === "string" ? schema.title : capitalize(humanize(name));

/** The help text below a field. */
export function hintOf(schema: Schema): string {
  const usual = schema.default;
  const text = typeof schema.description === "string" ? schema.description : "";
  const tellable = ["string", "number", "boolean"].includes(typeof usual) && usual !== "";
  return tellable ? t.form.default(text, String(usual)).trim() : text;
}

/** The initial value of a new entry; required parts are present and empty. */
export function initialValue(given: unknown, root: Schema, depth = 0): unknown {
  const schema = resolveSchemaOnce(given, root);
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [variant] = variantsOf(schema, root);
  if (variant) return initialValue(variant, root, depth + 1);
  switch (typesOf(schema)[0]) {
    case "object": {
      const required = depth < DEEPEST ? (schema.required ?? []) as string[] : [];
      const field = required.map((
        key,
      ) => [key, initialValue(schema.properties?.[key], root, depth + 1)]);
      return Object.fromEntries(field);
    }
    case "array":
      return [];
    case "boolean":
      return false;
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    default:
      return "";
  }
}

/** The number that a text represents; other text stays text. */
export function parseNumber(text: string, asText: boolean): number | string | undefined {
  const spelt = text.trim();
  if (!spelt) return undefined;
  const isNumber = /^-?[0-9]+(\.[0-9]+)?$/.test(spelt) && !isInexact(spelt);
  return !asText && isNumber ? Number(spelt) : spelt;
}
