// What an automation may do and what it does, shown from its definition and its grants.

import { ask } from "./page.js";
import { el, json, numbered } from "./parts.js";
import { boundWords, everyStep, secretWords, span, usd } from "./words.js";

// What every script has and needs no agreement to: its own memory and its own history.
const ITS_OWN = /^automation_(kv\.|recent_failures$)/;
const ORDER = { send: 0, keep: 1, read: 2 };

// The capabilities behind the grants; one that is not known here any more has its name only.
export async function knowGrants(automation) {
  const asked = automation.grants
    .filter((one) => !ITS_OWN.test(one.capability))
    .map(async (grant) => {
      const path = `/capabilities/${encodeURIComponent(grant.capability)}`;
      const known = await ask("GET", path).catch(() => null);
      return { ...grant, known };
    });
  const found = await Promise.all(asked);
  const weight = (one) => ORDER[one.known && one.known.effect] ?? 3;
  return found.sort((one, other) => weight(one) - weight(other));
}

// Whose secrets an automation uses, where each goes, and which of them are there, as far as this
// person may know.
export async function knowSecrets(automation, who) {
  const names = [...new Set(automation.secrets.map((one) => one.name))];
  if (!names.length) return [];
  const mine = automation.created_by === who.user.id;
  const told = mine ? await ask("GET", "/secrets").catch(() => null) : null;
  const there = told && new Set(told.secrets.map((one) => one.name));
  return names.map((name) => ({
    name,
    places: automation.secrets.filter((one) => one.name === name),
    missing: there !== null && !there.has(name),
  }));
}

function reach(grant, policy) {
  const known = grant.known;
  if (!known) return "";
  if (known.confirmation) {
    return policy === "auto_confirm_safe"
      ? "waits in the inbox for a yes, unless it is known to be safe"
      : "waits in the inbox for a yes";
  }
  return { send: "leaves the house", keep: "changes what is kept here", read: "only reads" }[known.effect];
}

function grantLine(grant, policy) {
  const bounds = Object.entries(grant.params).map(([name, bound]) => boundWords(name, bound));
  const far = reach(grant, policy);
  return el(
    "li",
    { class: grant.known && grant.known.effect === "send" ? "sends" : null },
    el("strong", {}, grant.known ? grant.known.label : grant.capability),
    bounds.length ? ` ${bounds.join("; ")}` : "",
    el("span", { class: "soft line" }, far && `${far} · `, el("code", {}, grant.capability)),
  );
}

function secretLine(secret) {
  return el(
    "li",
    {},
    el("code", {}, secret.name),
    ...secret.places.map((one) => el("span", { class: "soft line" }, secretWords(one))),
    secret.missing && el("span", { class: "field-problem line" },
      "It is not there yet. Its owner adds it with ",
      el("code", {}, `mainspring secrets set ${secret.name}`), "."),
  );
}

const SCRIPT_SECONDS = 60;

// How long a script has, which is most often less than its run has.
function walls(definition, whole) {
  const scripts = [...everyStep([definition.plan, definition.execution?.on_failure])]
    .filter((one) => one.action === "script");
  const told = scripts.map((one) => {
    const name = scripts.length > 1 ? ` ${one.step_id}` : "";
    return `The script${name} is killed after ${Math.min(one.config.wall_seconds ?? SCRIPT_SECONDS, whole)} s.`;
  });
  const alone = scripts.length === 1 && definition.plan.length === 1 && definition.plan[0] === scripts[0];
  return alone ? told : [`A run may work for ${span(whole)} in all.`, ...told];
}

export function bounds(definition) {
  const execution = definition.execution || {};
  const told = [
    `At most ${usd(execution.budget_cap_usd ?? 1)} for one run, ${usd(execution.cost_cap_daily_usd ?? 1)} for all of a day.`,
    `At most ${Number(execution.max_llm_tokens ?? 200000).toLocaleString("en")} tokens of models for one run.`,
    ...walls(definition, execution.timeout_seconds ?? 600),
  ];
  const queued = {
    queue: "A run waits until the one before it has ended.",
    drop_if_running: "Nothing starts while a run is under way.",
    allow_parallel: "Runs may go on side by side.",
  };
  return [...told, queued[execution.concurrency ?? "queue"]];
}

// Grants, secrets and bounds: the same words on the page and before somebody agrees.
export function mayDo(automation, grants, secrets) {
  const policy = automation.definition.execution?.write_policy;
  const calls = grants.map((one) => grantLine(one, policy));
  const own = automation.grants.length > grants.length
    ? el("li", {}, "Keep a small memory of its own, and read of its own failures")
    : null;
  const none = el("li", {}, "Nothing beyond its own steps");
  const parts = [
    el("h3", {}, "It may"),
    el("ul", { class: "grants" }, ...(calls.length || own ? [...calls, own] : [none])),
  ];
  if (secrets.length) {
    parts.push(el("h3", {}, "Secrets of its owner that it uses"), el("ul", {}, ...secrets.map(secretLine)));
  }
  parts.push(
    el("h3", {}, "Bounds"),
    el("ul", {}, ...bounds(automation.definition).map((one) => el("li", {}, one))),
  );
  return parts;
}

const isSteps = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((one) => one && one.step_id && one.action);

// One step; a script with its source, and steps that hold others with those.
export function stepLine(step) {
  const config = { ...step.config };
  const parts = [
    el("strong", {}, step.step_id), " ", el("code", { class: "soft" }, step.action),
    step.description && el("p", {}, step.description),
    step.when && el("p", { class: "soft" }, "Only if ", el("code", {}, step.when)),
  ];
  if (step.action === "script" && typeof config.source === "string") {
    parts.push(numbered(config.source, `The source of ${step.step_id}`));
    delete config.source;
  }
  for (const [name, value] of Object.entries(config)) {
    if (!isSteps(value)) continue;
    parts.push(el("p", { class: "soft" }, name), el("ol", { class: "plan" }, ...value.map(stepLine)));
    delete config[name];
  }
  if (Object.keys(config).length) {
    parts.push(el("details", {}, el("summary", {}, "Settings"), json(config)));
  }
  return el("li", {}, ...parts);
}
