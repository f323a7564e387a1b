// The texts about an automation: state, grants and limits.

import type { Schemas } from "../../api/client";
import { formatDuration, formatUsd, humanize } from "../../kit/format";
import { locale, t } from "../../strings";

export type Detail = Schemas["AutomationDetail"];
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
      ? t.automation.itsTriggersAreOn
      : t.automation.noTriggerIsOnIt;
  }
  if (automation.state === "archived") return t.automation.itIsArchivedAndDoes;
  if (automation.paused_reason === "failures") {
    return t.automation.itWasPausedAfterFailure(automation.failures);
  }
  if (automation.paused_reason === "consent") {
    return t.automation.itIsPausedUntilA;
  }
  if (automation.paused_reason === "owner_left") {
    return t.automation.itStoppedWhenItsOwner;
  }
  if (automation.paused_reason) return t.automation.itIsPaused(automation.paused_reason);
  return t.automation.itIsPausedItRuns;
}

// Every script has these without consent: its own state and history.
const ITS_OWN = /^automation_(kv\.|recent_failures$)/;
export const isOwn = (grant: { capability: string }) => ITS_OWN.test(grant.capability);

/** Where a secret is sent. */
export function describeSecret({ action, part, site }: Schemas["SecretUseShape"]): string {
  if (!part) return t.automation.isUsedByItsFor(humanize(action));
  const fetching = action === "http_fetch";
  const place = fetching
    ? t.automation.theOfARequest(part)
    : t.automation.of(humanize(part), action);
  if (site) return t.automation.isSentToIn(site, place);
  return fetching ? t.automation.isSentWhereTheRun(place) : t.automation.isUsedIn(place);
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
  queue: t.automation.aRunWaitsUntilThe,
  drop_if_running: t.automation.nothingStartsWhileARun,
  allow_parallel: t.automation.runsCanOverlap,
};
const POLICY: Record<string, string> = {
  always_draft: t.automation.everythingSentOutsideNeedsApproval,
  auto_confirm_safe: t.automation.whatIsSentOutsideNeeds,
  auto_confirm: t.automation.whatIsSentOutsideIs,
};
const SCRIPT_SECONDS = 60;

function scriptLimits(definition: Definition, whole: number): Limit[] {
  return [...everyStep([definition.plan, definition.execution?.on_failure])]
    .filter((one) => one.action === "script")
    .map((one) => ({
      name: t.automation.script(one.step_id),
      text: t.automation.stopsAfter(
        formatDuration(Math.min(Number(one.config?.wall_seconds ?? SCRIPT_SECONDS), whole)),
      ),
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
      name: t.automation.costPerRun,
      text: t.automation.atMost(formatUsd(String(execution.budget_cap_usd ?? 1))),
      pointer: at("budget_cap_usd"),
    },
    {
      name: t.automation.costPerDay,
      text: t.automation.atMost(formatUsd(String(execution.cost_cap_daily_usd ?? 1))),
      pointer: at("cost_cap_daily_usd"),
    },
    {
      name: t.automation.models,
      text: t.automation.atMostTokensPerRun(
        Number(execution.max_llm_tokens ?? 200000).toLocaleString(locale),
      ),
      pointer: at("max_llm_tokens"),
    },
    {
      name: t.automation.time,
      text: t.automation.aRunCanTakeUp(formatDuration(whole)),
      pointer: at("timeout_seconds"),
    },
    ...scriptLimits(definition, whole),
    {
      name: t.automation.retries,
      text: retries ? t.automation.aFailedStepIsRetried(retries) : t.automation.aFailedStepIsNot,
      pointer: at("max_retries"),
    },
    {
      name: t.automation.concurrency,
      text: CONCURRENCY[queued] ?? humanize(queued),
      pointer: at("concurrency"),
    },
    {
      name: t.automation.sending,
      text: POLICY[policy] ?? humanize(policy),
      pointer: at("write_policy"),
    },
    {
      name: t.automation.retention,
      text: t.automation.runsAreKeptForDay(definition.retention?.runs_days ?? 90),
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
