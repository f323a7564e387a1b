// The texts about an automation: state, grants and limits.

import type { Schemas } from "../../api/client";
import { describeLimit, formatCount, formatDuration, formatUsd, humanize } from "../../kit/format";

export type Detail = Schemas["AutomationDetail"];
type Grant = Schemas["GrantShape"];
export type Step = {
  step_id: string;
  action: string;
  description?: string;
  when?: string;
  config?: Record<string, unknown>;
};
export type Definition = {
  description?: string;
  plan: Step[];
  inputs?: { schema?: Record<string, unknown> };
  execution?: Record<string, unknown> & { on_failure?: Step[] };
  retention?: { runs_days?: number };
  metadata?: { tags?: string[] };
};

export const definitionOf = (automation: Detail) => automation.definition as unknown as Definition;

/** Why it is in its state. */
export function describeState(automation: Detail): string {
  if (automation.state === "active") {
    return automation.triggers.some((one) => one.enabled)
      ? "Its triggers start it."
      : "It has no trigger that is on: it runs only when a person starts it.";
  }
  if (automation.state === "archived") return "It was put away; nothing starts it.";
  if (automation.paused_reason === "failures") {
    return `It was paused after ${formatCount(automation.failures, "failure")} in a row.`;
  }
  if (automation.paused_reason === "consent") {
    return "It is paused until a person agrees to what it may do.";
  }
  if (automation.paused_reason === "owner_left") {
    return "It stopped when its owner left. Somebody has to take it over or activate it.";
  }
  if (automation.paused_reason) return `It is paused: ${automation.paused_reason}.`;
  return "It is paused: it runs only when a person starts it.";
}

// Every script has these without consent: its own state and history.
const ITS_OWN = /^automation_(kv\.|recent_failures$)/;
export const isOwn = (grant: { capability: string }) => ITS_OWN.test(grant.capability);

export const describeGrant = (grant: Grant) =>
  Object.entries(grant.params).map(([name, bound]) => describeLimit(name, bound)).join("; ");

/** Where a secret is sent. */
export function describeSecret({ action, part, site }: Schemas["SecretUseShape"]): string {
  if (!part) return `is used by its ${humanize(action)}, for the signature`;
  const fetching = action === "http_fetch";
  const place = fetching ? `the ${part} of a request` : `${humanize(part)} of ${action}`;
  if (site) return `goes to ${site}, in ${place}`;
  return fetching ? `goes where a run decides, in ${place}` : `is used in ${place}`;
}

function* everyStep(value: unknown): Generator<Step> {
  if (Array.isArray(value)) {
    for (const one of value) yield* everyStep(one);
  } else if (value && typeof value === "object") {
    if ("step_id" in value && "action" in value) yield value as Step;
    for (const one of Object.values(value)) yield* everyStep(one);
  }
}

/** Whether it contains a script. */
export const hasScript = (definition: Definition) =>
  [...everyStep(definition)].some((one) => one.action === "script");

export type Limit = { name: string; text: string; pointer: string };
const CONCURRENCY: Record<string, string> = {
  queue: "a run waits until the one before it has ended",
  drop_if_running: "nothing starts while a run is under way",
  allow_parallel: "runs may go on side by side",
};
const POLICY: Record<string, string> = {
  always_draft: "everything that is sent outside asks a person first",
  auto_confirm_safe: "what is sent outside asks a person first, unless it is known to be safe",
  auto_confirm: "what is sent outside goes at once",
};
const SCRIPT_SECONDS = 60;

function scriptLimits(definition: Definition, whole: number): Limit[] {
  return [...everyStep([definition.plan, definition.execution?.on_failure])]
    .filter((one) => one.action === "script")
    .map((one) => ({
      name: `Script ${one.step_id}`,
      text: `is ended after ${
        formatDuration(Math.min(Number(one.config?.wall_seconds ?? SCRIPT_SECONDS), whole))
      }`,
      pointer: "/plan",
    }));
}

/** The limits, each with its pointer in the definition. */
export function listLimits(definition: Definition): Limit[] {
  const execution = definition.execution ?? {};
  const at = (name: string) => `/execution/${name}`;
  const whole = Number(execution.timeout_seconds ?? 600);
  const retries = Number(execution.max_retries ?? 2);
  const policy = String(execution.write_policy ?? "always_draft");
  const queued = String(execution.concurrency ?? "queue");
  return [
    {
      name: "One run may cost",
      text: `${formatUsd(String(execution.budget_cap_usd ?? 1))} at most`,
      pointer: at("budget_cap_usd"),
    },
    {
      name: "A day may cost",
      text: `${formatUsd(String(execution.cost_cap_daily_usd ?? 1))} at most`,
      pointer: at("cost_cap_daily_usd"),
    },
    {
      name: "Models",
      text: `${
        Number(execution.max_llm_tokens ?? 200000).toLocaleString("en")
      } tokens for one run at most`,
      pointer: at("max_llm_tokens"),
    },
    {
      name: "Time",
      text: `a run may work for ${formatDuration(whole)}`,
      pointer: at("timeout_seconds"),
    },
    ...scriptLimits(definition, whole),
    {
      name: "Tries",
      text: retries
        ? `a step that fails is tried ${formatCount(retries, "time")} more`
        : "a step that fails is not tried again",
      pointer: at("max_retries"),
    },
    {
      name: "Side by side",
      text: CONCURRENCY[queued] ?? humanize(queued),
      pointer: at("concurrency"),
    },
    { name: "Sending", text: POLICY[policy] ?? humanize(policy), pointer: at("write_policy") },
    {
      name: "History",
      text: `runs are kept for ${formatCount(definition.retention?.runs_days ?? 90, "day")}`,
      pointer: "/retention/runs_days",
    },
  ];
}

/** The default inputs of a manual run. */
export function defaultInputs(definition: Definition): Record<string, unknown> {
  const properties = (definition.inputs?.schema?.properties ?? {}) as Record<
    string,
    { default?: unknown }
  >;
  const known = Object.entries(properties).filter(([, one]) =>
    one?.default !== undefined && !String(one.default).startsWith("$")
  );
  return Object.fromEntries(known.map(([name, one]) => [name, one.default]));
}

export const takesInputs = (definition: Definition) =>
  Object.keys((definition.inputs?.schema?.properties as object | undefined) ?? {}).length > 0;

/**
 * The two versions that a URL compares: those it names, or the selected one and its predecessor.
 */
export function versionsToCompare(
  values: { from?: string; to?: string; version?: string },
  newest: number,
): { from: number; to: number } {
  const held = (value: string | undefined) => {
    const number = Number(value);
    return Number.isInteger(number) && number >= 1 && number <= newest ? number : undefined;
  };
  const looked = held(values.version);
  // The first version has no predecessor; it is compared with the version in force.
  const usual = looked === undefined || looked > 1
    ? { from: (looked ?? newest) - 1, to: looked ?? newest }
    : { from: 1, to: newest };
  return { from: held(values.from) ?? usual.from, to: held(values.to) ?? usual.to };
}
