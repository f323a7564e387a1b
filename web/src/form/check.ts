// Validation in the browser while the user types. The server's validation is authoritative.

import { importWhenReachable } from "../api/lazyImport";
import { isObject, partsOf, under, valueAt } from "./pointers";
import { hint, isTemplate } from "./schema";
import type { Finding, Json, Schema } from "./values";
import type { Vocabulary } from "./vocabulary";
import { t } from "../strings";

type Unit = { keyword: string; instanceLocation: string; keywordLocation: string; error: string };
type Validate = (schema: Schema, value: unknown) => Unit[];

const loadValidator = importWhenReachable(() => import("@cfworker/json-schema"));
const validators = new WeakMap<Schema, { validate: (value: unknown) => { errors: Unit[] } }>();

/** The validator is lazy-loaded on first use. */
async function createValidate(): Promise<Validate> {
  const { Validator } = await loadValidator();
  return (schema, value) => {
    const known = validators.get(schema) ?? new Validator(schema as never, "2020-12", false);
    validators.set(schema, known as never);
    return known.validate(value).errors as Unit[];
  };
}

const MESSAGES: Record<string, (limit: unknown) => string> = {
  type: (limit) => t.form.expected([limit].flat().join(" or ")),
  enum: (limit) => t.form.mustBeOneOf((limit as unknown[]).join(", ")),
  const: (limit) => t.form.thisMustBe(String(limit)),
  minLength: (limit) => (limit === 1 ? t.form.enterAValue : t.form.atLeastCharacters(limit)),
  maxLength: (limit) => t.form.atMostCharacters(limit),
  minimum: (limit) => t.form.atLeast(limit),
  maximum: (limit) => t.form.atMost(limit),
  exclusiveMinimum: (limit) => t.form.moreThan(limit),
  exclusiveMaximum: (limit) => t.form.lessThan(limit),
  minItems: (
    limit,
  ) => (limit === 1 ? t.form.atLeastOneIsRequired : t.form.atLeastAreRequired(limit)),
  maxItems: (limit) => t.form.atMost(limit),
  pattern: () => t.form.thisDoesNotHaveThe,
  format: (limit) => t.form.thisIsNotAValid(String(limit)),
};

const toPointer = (location: string) => decodeURIComponent(location.replace(/^#/, ""));

// Only the basics: the server checks alternatives and conditions, with better messages.
function findingsOf(units: Unit[], schema: Schema, value: unknown, at: string): Finding[] {
  return units.flatMap((unit): Finding[] => {
    if (
      /\/(anyOf|oneOf|allOf|if|not|then|else|dependentSchemas)\//.test(unit.keywordLocation)
    ) return [];
    const inner = toPointer(unit.instanceLocation);
    const here = valueAt(value, inner);
    if (unit.keyword === "required") {
      const missing = /"([^"]+)"/.exec(unit.error)?.[1];
      return [{
        pointer: missing ? under(at + inner, missing) : at + inner,
        detail: t.form.thisFieldIsRequired,
        level: "error",
      }];
    }
    const say = MESSAGES[unit.keyword];
    if (!say || isTemplate(here)) return [];
    const holder = partsOf(toPointer(unit.keywordLocation)).slice(0, -1);
    const found = holder.length ? valueAt(schema, under("", ...holder)) : schema;
    const texts = isObject(found) ? hint(found, "says") : undefined;
    const limit = isObject(found) ? found[unit.keyword] : undefined;
    if (limit === undefined && unit.keyword !== "pattern") return [];
    return [{
      pointer: at + inner,
      detail: typeof texts === "string" ? texts : say(limit),
      level: "error",
    }];
  });
}

/** The findings about a small document. */
export async function checkValue(schema: Schema, value: unknown): Promise<Finding[]> {
  return findingsOf((await createValidate())(schema, value), schema, value, "");
}

type Place = { at: string; step: Json };

function everyStep(list: unknown, at: string): Place[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((step, place) => {
    if (!isObject(step)) return [];
    const here = under(at, place);
    const inner = isObject(step.config) ? everyStep(step.config.steps, `${here}/config/steps`) : [];
    return [{ at: here, step }, ...inner];
  });
}

/** The findings about a definition, as far as its schemas cover them. */
export async function checkDefinition(value: unknown, vocabulary: Vocabulary): Promise<Finding[]> {
  const verdict = await createValidate();
  const found = findingsOf(verdict(vocabulary.definition, value), vocabulary.definition, value, "");
  if (!isObject(value)) return found;
  const steps = [
    ...everyStep(value.plan, "/plan"),
    ...everyStep(valueAt(value, "/execution/on_failure"), "/execution/on_failure"),
  ];
  const starts = everyStep(value.triggers, "/triggers");
  const configs = [
    ...steps.map(({ at, step }) => ({
      at,
      config: step.config,
      schema: vocabulary.actions.get(String(step.action))?.schema,
    })),
    ...starts.map(({ at, step }) => ({
      at,
      config: step.config,
      schema: vocabulary.triggers.get(String(step.type))?.schema,
    })),
  ];
  for (const { at, config, schema } of configs) {
    if (!schema) continue;
    found.push(
      ...findingsOf(verdict(schema, config ?? {}), schema, config ?? {}, `${at}/config`),
    );
  }
  return found;
}
