// One automation: what it is, may do and does, how it is set going and at rest, its runs and its
// versions. Nothing is set going before what it may do was shown and agreed to.

import { arrive, ask, byId, isAtLeast, onPress, say, sentence } from "./page.js";
import { badge, el, tell } from "./parts.js";
import { knowGrants, knowSecrets, mayDo, stepLine } from "./definition.js";
import { consentLines, costLines } from "./activating.js";
import { offerChange } from "./changing.js";
import { changeLine } from "./diff.js";
import { beginRuns, fillRuns, watch } from "./runs.js";
import { away, boundWords, capital, moment, plain, stateWords, triggerWords } from "./words.js";

const ID = location.pathname.split("/")[2];
const ONE = `/automations/${ID}`;
let who, automation, triggers, grants, secrets, consent;

function hushForm(form) {
  form.querySelector(".problem").hidden = true;
  form.querySelector(".findings").hidden = true;
}

// All that is wrong, each with its place in the definition.
function refuse(form, problem) {
  const told = problem.told || {};
  const place = form.querySelector(".problem");
  place.textContent = told.errors
    ? [told.detail, told.suggestion].filter(Boolean).join(" ")
    : sentence(problem);
  place.hidden = false;
  const findings = form.querySelector(".findings");
  findings.replaceChildren(
    ...(told.errors || []).map((one) =>
      el("li", {}, el("code", {}, one.pointer || "/"), " ", one.detail, one.suggestion ? ` ${one.suggestion}` : ""),
    ),
  );
  findings.hidden = findings.childElementCount === 0;
  place.scrollIntoView({ block: "nearest" });
}

function dialog(name, work) {
  const box = byId(`${name}-dialog`);
  const form = byId(`${name}-form`);
  const button = form.querySelector("button[type=submit]");
  let opener = null;
  form.querySelector(".close").addEventListener("click", () => box.close());
  // Focus goes back to where it came from, or to the top if that is gone.
  box.addEventListener("close", () => {
    const held = document.activeElement;
    if (held !== document.body && !box.contains(held)) return;
    (opener.isConnected && !opener.hidden ? opener : byId("name")).focus();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    hushForm(form);
    try {
      const then = await work(new FormData(form));
      box.close();
      if (then) then();
    } catch (problem) {
      refuse(form, problem);
    } finally {
      button.disabled = false;
    }
  });
  return (from) => {
    opener = from;
    form.reset();
    hushForm(form);
    box.showModal();
  };
}

function triggerLine(trigger) {
  const more = [];
  if (!trigger.enabled) more.push("switched off");
  if (trigger.next_due_at) more.push(`next ${moment(trigger.next_due_at)} (${away(trigger.next_due_at)})`);
  if (trigger.last_fired_at) more.push(`last ${moment(trigger.last_fired_at)}`);
  const words = el("div", {}, el("strong", {}, capital(triggerWords(trigger))), el("span", {}, more.join(" · ")));
  if (trigger.type === "webhook") {
    const hint = trigger.token ? "" : " It has no token yet: mainspring webhook token makes one.";
    words.append(el("span", { class: "line" }, el("code", {}, trigger.url || ""), hint));
  }
  return el("li", {}, words);
}

function shown() {
  const definition = automation.definition;
  document.title = `${automation.name} · Mainspring`;
  byId("name").textContent = automation.name;
  byId("goal").textContent = automation.goal || "";
  byId("description").textContent = definition.description || "";
  byId("description").hidden = !definition.description;
  byId("state").replaceChildren(badge(automation.state));
  byId("state-words").textContent = `${stateWords(automation)} Version ${automation.version} is in force.`;
  const failing = automation.failures > 0 && automation.paused_reason !== "failures";
  byId("failing").textContent = `Its latest runs failed: ${automation.failures} in a row.`;
  byId("failing").hidden = !failing;
  byId("consent").replaceChildren(...consentLines(consent));
  byId("consent").hidden = !consent;
  const may = isAtLeast(who, "operator");
  byId("activate").hidden = !may || automation.state !== "paused";
  byId("pause").hidden = !may || automation.state !== "active";
  byId("run").hidden = !may || automation.state === "archived";
  const none = el("li", { class: "hint" }, "Nothing: it is run by hand.");
  byId("triggers").replaceChildren(...(triggers.length ? triggers.map(triggerLine) : [none]));
  byId("may").replaceChildren(...mayDo(automation, grants, secrets));
  byId("plan").replaceChildren(...definition.plan.map(stepLine));
  const rescue = definition.execution?.on_failure || [];
  byId("failure-plan").replaceChildren(...rescue.map(stepLine));
  byId("on-failure").hidden = rescue.length === 0;
  byId("automation").hidden = false;
}

async function read() {
  const [found, started] = await Promise.all([ask("GET", ONE), ask("GET", `${ONE}/triggers`)]);
  [automation, triggers] = [found, started.items];
  [grants, secrets, consent] = await Promise.all([
    knowGrants(automation), knowSecrets(automation, who), knowConsent(),
  ]);
  shown();
  await fillVersions();
}

// What a person has to agree to before it starts, if there is anything; the newest comes first.
async function knowConsent() {
  if (automation.paused_reason !== "consent") return null;
  const { consents } = await ask("GET", `/consents?status=any&limit=1&automation_id=${ID}`);
  return consents.find((one) => one.status === "waiting" || one.status === "refused") || null;
}

// Scripts that are held by one wall alone are worth a word before they are set going.
async function fillWalls() {
  if (!JSON.stringify(automation.definition).includes('"script"')) return;
  const { warnings } = await ask("GET", "/health/scripts").catch(() => ({ warnings: [] }));
  byId("walls").textContent = warnings.join(" ");
  byId("walls").hidden = warnings.length === 0;
}

function versionLine(version, askBack) {
  const about = [moment(version.created_at)];
  if (version.rollback_of) about.push(`version ${version.rollback_of} brought back`);
  if (version.in_force) about.push("in force");
  const item = el("li", {}, el("div", {}, el("strong", {}, `Version ${version.version}`), el("span", {}, about.join(" · "))));
  if (!version.in_force && isAtLeast(who, "editor") && automation.state !== "archived") {
    const button = el("button", { type: "button", class: "plain", "aria-label": `Bring version ${version.version} back` }, "Bring back…");
    onPress(button, () => askBack(version.version, button));
    item.append(button);
  }
  return item;
}

let back = null;

async function fillVersions() {
  const { items } = await ask("GET", `${ONE}/versions?limit=20`);
  byId("versions").replaceChildren(...items.map((one) => versionLine(one, askBack)));
}

const grantWords = (grant) =>
  el("li", {}, el("code", {}, grant.capability), " ",
    Object.entries(grant.params).map(([name, bound]) => boundWords(name, bound)).join("; "));

async function askBack(version, from) {
  const found = await ask("GET", `${ONE}/diff?from=${automation.version}&to=${version}`);
  back = version;
  byId("back-title").textContent = `Bring version ${version} back?`;
  const changes = found.changes.slice(0, 30).map(changeLine);
  const more = found.changes.length - changes.length;
  byId("back-words").replaceChildren(
    el("p", {}, "It becomes the newest version, and the one in force."),
    ...(found.widened.length
      ? [el("h3", {}, "It may then, and may not now"), el("ul", { class: "grants" }, ...found.widened.map(grantWords))]
      : [el("p", {}, "It may call nothing that it may not call now.")]),
    el("h3", {}, "What changes"),
    el("ul", { class: "changes" }, ...(changes.length ? changes : [el("li", {}, "Nothing")])),
    more > 0 ? el("p", { class: "soft" }, `and ${more} more`) : "",
  );
  openBack(from);
}

const openBack = dialog("back", async () => {
  const saved = await ask("POST", `${ONE}/rollback`, { version: back });
  await read();
  tell(`Version ${back} is in force again, as version ${saved.version}.`);
});

const openActivate = dialog("activate", async () => {
  const { version } = await ask("GET", ONE);
  if (version !== automation.version) {
    throw { told: { detail: `Version ${version} was saved meanwhile. Close this and look at it first.` } };
  }
  if (consent) {
    // Just what was shown is agreed to: anything else by now is refused, and nothing starts.
    await ask("POST", `/consents/${consent.consent_id}/answer`, { digest: consent.digest, agree: true });
  }
  const now = await ask("POST", `${ONE}/activate`);
  await read();
  tell(["It is active.", ...now.warnings.map((one) => one.detail)].join(" "));
});

const openRun = dialog("run", async (given) => {
  const dry = given.get("mode") === "dry_run";
  const asked = { dry_run: dry };
  if (!byId("inputs-part").hidden) asked.inputs = inputsOf(given.get("inputs"));
  const started = await ask("POST", `${ONE}/run`, asked);
  tell(started.reason ? `It did not start: ${plain(started.reason)}.` : `${dry ? "The dry run" : "The run"} has begun.`);
  await fillRuns();
  return () => watch(started.run_id, true);
});

function inputsOf(text) {
  try {
    return JSON.parse(text || "{}");
  } catch {
    throw { told: { detail: "What it is given is not JSON. An object is written like {\"name\": \"value\"}." } };
  }
}

// A real run is asked for twice: it is chosen, and then agreed to.
function dressRun() {
  const dry = byId("dry").checked;
  byId("sure-part").hidden = dry;
  byId("sure").required = !dry;
  byId("start-run").textContent = dry ? "Start the dry run" : "Run it for real";
  const outside = grants.filter((one) => one.known?.effect === "send").map((one) => one.known.label.toLowerCase());
  byId("reach").textContent = outside.length ? `It may ${outside.join(", ")}.` : "It sends nothing outside.";
}

function givenByDefault() {
  const properties = automation.definition.inputs?.schema?.properties || {};
  byId("inputs-part").hidden = Object.keys(properties).length === 0;
  const known = Object.entries(properties).filter(([, one]) => one.default !== undefined && !/^\$/.test(one.default));
  byId("inputs").textContent = JSON.stringify(Object.fromEntries(known.map(([name, one]) => [name, one.default])), null, 2);
}

// What it will cost, and what rules find worth a look; whoever may edit may have it reviewed.
async function fillCost() {
  const reviewing = isAtLeast(who, "editor")
    ? ask("POST", "/reviews", { automation_id: ID, by: "rules" }).catch(() => null)
    : Promise.resolve(null);
  const [forecast, reviewed] = await Promise.all([ask("GET", `${ONE}/forecast`).catch(() => null), reviewing]);
  byId("activate-cost").replaceChildren(...costLines(forecast, reviewed?.review.flags || []));
}

function listen() {
  onPress(byId("activate"), async () => {
    // Somebody may have saved another version since the page was opened: agree to what is there.
    await read();
    await fillCost();
    byId("activate-title").textContent = `Activate ${automation.name}?`;
    const live = triggers.filter((one) => one.enabled);
    const words = live.length ? live.map(triggerWords) : ["only by hand: it has no trigger"];
    byId("activate-consent").replaceChildren(...consentLines(consent));
    byId("activate-starts").replaceChildren(...words.map((one) => el("li", {}, capital(one))));
    byId("activate-may").replaceChildren(...mayDo(automation, grants, secrets));
    openActivate(byId("activate"));
  });
  onPress(byId("pause"), async () => {
    await ask("POST", `${ONE}/pause`);
    await read();
    byId("activate").focus();
    tell("It is paused. Runs under way go on.");
  });
  onPress(byId("run"), async () => {
    givenByDefault();
    openRun(byId("run"));
    dressRun();
  });
  for (const id of ["dry", "live"]) byId(id).addEventListener("change", dressRun);
}

await arrive(async (person) => {
  who = person;
  try {
    await read();
  } catch (problem) {
    byId("elsewhere").hidden = problem.status !== 404;
    say(problem);
    return;
  }
  listen();
  offerChange(automation, who);
  await Promise.all([fillWalls(), beginRuns(automation, who)]);
});
