// The vocabulary of this installation: actions, capabilities, triggers, template filters and tests.

import { api, type Schemas } from "../api/client";
import { capitalize, humanize } from "../kit/format";
import type { Allowed } from "../code/completion";
import { useMemo } from "react";
import type { Outputs } from "./scope";
import type { Schema } from "./values";
import { t } from "../strings";

export type VocabularyEntry = {
  name: string;
  title: string;
  about: string;
  schema: Schema;
  output: Schema | null;
  effect?: string;
};
export type Vocabulary = {
  definition: Schema;
  actions: Map<string, VocabularyEntry>;
  triggers: Map<string, VocabularyEntry>;
  /** Options for a picker: actions first, then capabilities by group. */
  choices: { group: string; items: { value: string; label: string }[] }[];
  events: string[];
  allowed: Allowed;
  outputs: Outputs;
};

const firstLine = (text: string) => text.split("\n")[0] ?? "";
const rest = (text: string) => text.split("\n").slice(1).join(" ").trim();

function toEntry(
  name: string,
  description: string,
  schema: unknown,
  output: unknown,
): VocabularyEntry {
  return {
    name,
    title: firstLine(description) || capitalize(humanize(name)),
    about: (rest(description) || description).replaceAll("`", ""),
    schema: (schema ?? {}) as Schema,
    output: (output ?? null) as Schema | null,
  };
}

function groupEntries(entries: VocabularyEntry[], actions: number): Vocabulary["choices"] {
  const groups = new Map<string, { value: string; label: string }[]>();
  entries.forEach(({ name, title }, at) => {
    const group = at < actions
      ? t.form.actions
      : name.includes(".")
      ? capitalize(humanize(name.split(".")[0]!))
      : t.form.theWorkspace;
    const held = groups.get(group) ?? [];
    groups.set(group, [...held, { value: name, label: `${title} (${name})` }]);
  });
  return [...groups].map(([group, items]) => ({ group, items }));
}

function outputsOf(
  actions: Map<string, VocabularyEntry>,
  triggers: Map<string, VocabularyEntry>,
  events: Map<string, Schema>,
): Outputs {
  return {
    ofAction: (action) => actions.get(action)?.output ?? null,
    ofTrigger: (trigger) => {
      const config = trigger.config as { event_type?: string } | undefined;
      const known = trigger.type === "event" ? events.get(config?.event_type ?? "") : undefined;
      return known ?? triggers.get(String(trigger.type))?.output ?? null;
    },
  };
}

export function makeVocabulary(
  definition: Schema,
  entries: Schemas["VocabularyAnswer"],
  allowed: Allowed,
): Vocabulary {
  const own = entries.actions.map((one) =>
    toEntry(one.type, one.description, one.config_schema, one.output_schema)
  );
  const called = entries.capabilities.map((one) => ({
    ...toEntry(one.id, one.description, one.input_schema, one.output_schema),
    effect: one.effect,
  }));
  const actions = new Map([...called, ...own].map((one) => [one.name, one]));
  const triggers = new Map(
    entries.triggers.map((one) =>
      [
        one.type,
        toEntry(one.type, one.description, one.config_schema, one.payload_schema),
      ] as const
    ),
  );
  const events = new Map(
    entries.event_types.map((one) => [one.type, one.payload_schema as Schema]),
  );
  return {
    definition,
    actions,
    triggers,
    choices: groupEntries([...own, ...called], own.length),
    events: [...events.keys()],
    allowed,
    outputs: outputsOf(actions, triggers, events),
  };
}

const FOREVER = { staleTime: 5 * 60_000 };

/** The whole vocabulary, once loaded. */
export function useVocabulary() {
  const definition = api.useQuery("get", "/api/v1/schemas/definition", {}, FOREVER);
  const texts = api.useQuery("get", "/api/v1/vocabulary", {}, FOREVER);
  const templates = api.useQuery("get", "/api/v1/schemas/templates", {}, FOREVER);
  const vocabulary = useMemo(
    () =>
      definition.data && texts.data && templates.data
        ? makeVocabulary(definition.data as Schema, texts.data, templates.data)
        : undefined,
    [definition.data, texts.data, templates.data],
  );
  const error: unknown = definition.error ?? texts.error ?? templates.error;
  const again = () => {
    void Promise.all([definition.refetch(), texts.refetch(), templates.refetch()]);
  };
  return { data: vocabulary, error, again };
}
