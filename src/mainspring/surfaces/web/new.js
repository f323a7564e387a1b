// The page where an automation begins: words, and requests to begin with.

import { arrive, ask, byId, isAtLeast, onPress, onSubmit } from "./page.js";
import { badge, el, link, tell } from "./parts.js";
import { browserZone, proposed } from "./proposing.js";
import { away } from "./words.js";

const WORDS = { asks: "has questions", invalid: "is not right yet", ready: "ready" };

function starter(one, more) {
  const button = el("button", { type: "button", class: "starter" }, el("strong", {}, one.name), el("span", {}, one.text));
  button.addEventListener("click", () => {
    byId("text").value = one.text;
    byId("text").focus();
    byId("text").scrollIntoView({ block: "center" });
  });
  return el("li", {}, button, more);
}

function keptOne(one) {
  const button = el("button", { type: "button", class: "plain", "aria-label": `Forget ${one.name}` }, "Forget");
  onPress(button, async () => {
    await ask("DELETE", `/prompts/${one.id}`);
    await fillPrompts();
  });
  return starter(one, button);
}

async function fillPrompts() {
  const { prompts, starters } = await ask("GET", "/prompts");
  byId("starters").replaceChildren(...starters.map((one) => starter(one)));
  byId("kept").replaceChildren(...prompts.map(keptOne));
  byId("kept-part").hidden = prompts.length === 0;
}

async function fillModels() {
  const { usual_model: model } = await ask("GET", "/models").catch(() => ({ usual_model: null }));
  byId("makers").hidden = !model;
  byId("no-model").hidden = Boolean(model);
  byId("model").textContent = model || "";
}

function waiting(one) {
  const change = one.automation_id ? "a change · " : "";
  return el("li", {},
    el("div", {}, link(`/proposals/${one.proposal_id}`, one.name || one.request), el("span", { class: "line" }, `${change}${away(one.created_at)}`)),
    el("span", {}, WORDS[one.status] ? el("span", { class: `badge ${one.status === "ready" ? "good" : "busy"}` }, WORDS[one.status]) : badge(one.status)));
}

async function fillWaiting() {
  const { proposals } = await ask("GET", "/proposals?limit=10");
  byId("waiting").replaceChildren(...proposals.map(waiting));
  byId("waiting-part").hidden = proposals.length === 0;
}

function listen() {
  onSubmit(byId("new-form"), async (given) => {
    const by = byId("makers").hidden ? {} : { by: given.by };
    await proposed({ text: given.text.trim(), ...by }, byId("working"));
  });
  onSubmit(byId("keep-form"), async (given) => {
    const text = byId("text").value.trim();
    if (!text) throw { told: { detail: "There are no words above to keep." } };
    await ask("PUT", `/prompts/${encodeURIComponent(given.name)}`, { text });
    byId("keep-form").reset();
    await fillPrompts();
    tell("They are kept, for everybody here.");
  });
  // As in a chat: enter makes a line, and with Ctrl or ⌘ it sends.
  byId("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("new-form").requestSubmit();
  });
}

await arrive(async (who) => {
  const may = isAtLeast(who, "editor");
  byId("propose").disabled = !may;
  byId("keep-part").hidden = !may;
  byId("may-not").hidden = may;
  byId("may-not").textContent = `Your role here (${who.role}) may look; making an automation takes editor or more.`;
  const zone = browserZone();
  byId("zone").textContent = zone ? `Times are read in ${zone}, unless your words name another place.` : "";
  listen();
  byId("text").focus();
  await Promise.all([fillPrompts(), fillModels(), fillWaiting()]);
});
