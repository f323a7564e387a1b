// A one-line summary of a step, for a collapsed card.

import { isObject } from "./pointers";
import type { Json, Schema } from "./values";
import { t } from "../strings";

const MOST = 90;
// The config keys that people look for first, in order.
const SUMMARY_KEYS = [
  "title",
  "subject",
  "text",
  "prompt",
  "goal",
  "task",
  "url",
  "query",
  "channel",
];
const HIDDEN = new Set(["source", "token", "headers"]);

const oneLine = (text: string) => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MOST ? `${line.slice(0, MOST - 1).trimEnd()}…` : line;
};

const isText = (value: unknown): value is string => typeof value === "string" && !!value.trim();

/** The config in one line; empty if it has no text. */
export function summarizeStep(step: Json, schema: Schema | undefined): string {
  const config = isObject(step.config) ? step.config : {};
  if (Array.isArray(config.steps)) {
    return config.steps.length === 1
      ? t.form.n1StepInside
      : t.form.stepsInside(config.steps.length);
  }
  const required = Array.isArray(schema?.required) ? schema.required as string[] : [];
  const names = [...SUMMARY_KEYS, ...required, ...Object.keys(config)];
  const first = names.find((name) => !HIDDEN.has(name) && isText(config[name]));
  return first ? oneLine(config[first] as string) : "";
}
