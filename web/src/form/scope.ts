// The names that a template can use at one pointer of a definition: inputs, the trigger, outputs of
// earlier steps, the run, the loop item, and secrets where they are allowed.

import type { Name } from "../code/completion";
import { isObject, partsOf, valueAt } from "./pointers";
import { isSteps, resolveSchema, typesOf } from "./schema";
import type { Json, Samples, Schema } from "./values";
import { t } from "../strings";

const DEEPEST = 6;
const RUN: Record<string, string> = {
  id: t.form.theRunsId,
  started_at: t.form.whenItStartedInIso,
  automation_id: t.form.itsAutomation,
  automation_name: t.form.theAutomationsName,
  automation_version: t.form.theVersionItRuns,
  trigger_type: t.form.manualOrTheTypeOf,
  trigger_id: t.form.theTrigger,
  workspace_id: t.form.itsWorkspace,
  creator_id: t.form.whoCreatedTheAutomation,
  attempt: t.form.n1PlusOneForEach,
};
const FAILED: Record<string, string> = {
  failed_step_id: t.form.theStepThatFailed,
  error: t.form.theProblemWithDetailCode,
};

/** The output schemas of the actions, capabilities and triggers, by name. */
export type Outputs = {
  ofAction: (action: string) => Schema | null;
  ofTrigger: (trigger: Json) => Schema | null;
};

const formatSample = (value: unknown): string => {
  if (Array.isArray(value)) return t.form.items(value.length);
  if (isObject(value)) return t.form.object2;
  const text = JSON.stringify(value) ?? "";
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
};

/** Names from a sample value, completed with those that only the schema has. */
export function namesOf(
  name: string,
  schema: Schema | null,
  sample: unknown,
  depth = 0,
  root = schema,
): Name {
  const shape = schema && root ? resolveSchema(schema, root) : {};
  const about = sample !== undefined
    ? formatSample(sample)
    : shape.description ?? typesOf(shape).join(" or ");
  if (depth >= DEEPEST) return { name, about, sample };
  const inside = () => {
    if (Array.isArray(sample)) {
      return sample.slice(0, 5).map((one, at) =>
        namesOf(String(at), shape.items ?? null, one, depth + 1, root)
      );
    }
    const properties: Record<string, Schema> = shape.properties ?? {};
    const held = isObject(sample) ? sample : {};
    const keys = new Set([...Object.keys(held), ...Object.keys(properties)]);
    return [...keys].map((key) =>
      namesOf(key, properties[key] ?? null, held[key], depth + 1, root)
    );
  };
  const isFull = isObject(sample) || Array.isArray(sample) || shape.properties;
  return { name, about, sample, inside: isFull ? inside : undefined };
}

function shapeOf(step: Json, outputs: Outputs): [Schema | null, unknown] {
  const config = isObject(step.config) ? step.config : {};
  if (isObject(config.output_schema)) return [config.output_schema, undefined];
  if (step.action === "transform_data") {
    return [null, isObject(config.output) ? config.output : undefined];
  }
  return [outputs.ofAction(String(step.action)), undefined];
}

function stepName(step: Json, outputs: Outputs, samples?: Samples): Name[] {
  const names = [step.step_id, step.output_as].filter((one) =>
    typeof one === "string" && one
  ) as string[];
  const [schema, guess] = shapeOf(step, outputs);
  return [...new Set(names)].map((name) => {
    const real = samples?.steps[name] ?? samples?.steps[String(step.step_id)];
    return namesOf(name, schema, real === undefined ? guess : real);
  });
}

type Walk = { earlier: Json[]; items: Name[]; afterFailure: boolean };

function itemName(step: Json, samples?: Samples): Name[] {
  const config = isObject(step.config) ? step.config : {};
  const name = typeof config.as === "string" && config.as ? config.as : "item";
  const path = typeof config.items === "string"
    ? /^\{\{\s*([\w.]+)\s*\}\}$/.exec(config.items)?.[1]
    : undefined;
  const list = path ? sampleAt(path, samples) : config.items;
  const first = Array.isArray(list) ? list[0] : undefined;
  return [namesOf(name, null, first), { name: "index", about: t.form.itsIndexStartingAt0 }];
}

function sampleAt(path: string, samples?: Samples): unknown {
  const [first, ...rest] = path.split(".");
  const whole: Json = {
    inputs: samples?.inputs,
    trigger: samples?.payload,
    steps: samples?.steps,
    ...samples?.steps,
  };
  return valueAt(whole[first!], rest.map((one) => `/${one}`).join(""));
}

/** Follows a pointer through nested lists of steps and collects the earlier steps. */
function walk(document: unknown, pointer: string, samples?: Samples): Walk {
  const found: Walk = { earlier: [], items: [], afterFailure: false };
  let value = document;
  for (const part of partsOf(pointer)) {
    if (part === "on_failure") {
      found.afterFailure = true;
      const plan = valueAt(document, "/plan");
      if (isSteps(plan)) found.earlier.push(...plan);
    }
    if (isSteps(value) && /^[0-9]+$/.test(part)) {
      found.earlier.push(...value.slice(0, Number(part)));
      const step = value[Number(part)];
      const inner = isObject(step) && isObject(step.config) ? step.config.steps : undefined;
      if (isSteps(inner) && step && isWithin(document, step, pointer)) {
        found.items.push(...itemName(step, samples));
      }
    }
    value = Array.isArray(value) ? value[Number(part)] : isObject(value) ? value[part] : undefined;
  }
  return found;
}

function isWithin(document: unknown, step: Json, pointer: string): boolean {
  const parts = partsOf(pointer);
  return parts.some((part, at) =>
    part === "steps" && parts[at - 1] === "config" &&
    valueAt(document, `/${parts.slice(0, at - 1).join("/")}`) === step
  );
}

const group = (name: string, about: string, inside: Name[]): Name => ({
  name,
  about,
  inside: () => inside,
});
const listed = (descriptions: Record<string, string>): Name[] =>
  Object.entries(descriptions).map(([name, about]) => ({ name, about }));

function triggerNames(document: unknown, outputs: Outputs, samples?: Samples): Name {
  const triggers = valueAt(document, "/triggers");
  const shapes = Array.isArray(triggers) ? triggers.filter(isObject).map(outputs.ofTrigger) : [];
  const properties = Object.assign(
    {},
    ...shapes.map((one) => (one ? resolveSchema(one, one).properties : {}) ?? {}),
  );
  const named = namesOf("trigger", { type: "object", properties }, samples?.payload);
  return { ...named, about: t.form.whatStartedTheRun };
}

type Place = {
  document: unknown;
  pointer: string;
  outputs: Outputs;
  samples?: Samples;
  secrets?: string[];
};

/** All names that a template can use at this pointer. */
export function scopeAt({ document, pointer, outputs, samples, secrets }: Place): Name[] {
  const { earlier, items, afterFailure } = walk(document, pointer, samples);
  const steps = earlier.flatMap((one) => stepName(one, outputs, samples));
  const schema = valueAt(document, "/inputs/schema");
  const inputs = namesOf("inputs", isObject(schema) ? schema : null, samples?.inputs);
  return [
    ...items,
    { ...inputs, about: t.form.theRunsInputs },
    triggerNames(document, outputs, samples),
    group("steps", t.form.outputsOfEarlierSteps, steps),
    ...steps,
    group("run", t.form.thisRun, listed({ ...RUN, ...(afterFailure ? FAILED : {}) })),
    ...(secrets
      ? [group(
        "secrets",
        t.form.byNameOnly,
        secrets.map((name) => ({ name, about: t.form.secret })),
      )]
      : []),
  ];
}
