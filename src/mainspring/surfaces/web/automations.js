// The list of automations: state, what starts each, when that will be, and how its last run ended.

import { arrive, ask, byId, onPress } from "./page.js";
import { badge, el, link } from "./parts.js";
import { away, capital, moment, outcomeWords, stateWords, triggerWords } from "./words.js";

const A_PAGE = 25;
let next = null;

const timed = (text) => el("time", { datetime: text, title: moment(text) }, away(text));

function lastRun(run) {
  if (run === null) return [el("span", { class: "soft" }, "It has not run yet.")];
  const became = run.outcome ? ` ${outcomeWords(run.outcome)},` : "";
  return [badge(run.status), el("span", { class: "soft" }, `${became} `, timed(run.at))];
}

function starts(triggers, automation) {
  const live = triggers.filter((one) => one.enabled);
  const words = live.length ? live.map((one) => capital(triggerWords(one))) : ["By hand only"];
  const due = automation.next_due_at;
  return [
    ...words.map((one) => el("span", { class: "line" }, one)),
    ...(due ? [el("span", { class: "soft" }, "Next ", timed(due))] : []),
  ];
}

function row(automation) {
  const when = el("div", { class: "starts" }, el("span", { class: "soft" }, "…"));
  const why = automation.paused_reason ? stateWords(automation) : "";
  const item = el(
    "li",
    {},
    el(
      "div",
      { class: "named" },
      link(`/automations/${automation.id}`, automation.name),
      el("span", { class: "goal soft" }, automation.goal || ""),
    ),
    el("div", {}, badge(automation.state), why && el("span", { class: "soft line" }, why)),
    when,
    el("div", {}, ...lastRun(automation.last_run)),
  );
  fillStarts(when, automation);
  return item;
}

async function fillStarts(place, automation) {
  try {
    const { items } = await ask("GET", `/automations/${automation.id}/triggers`);
    place.replaceChildren(...starts(items, automation));
  } catch {
    place.replaceChildren(el("span", { class: "soft" }, "Not known at the moment"));
  }
}

async function fill() {
  const from = next ? `&cursor=${encodeURIComponent(next)}` : "";
  const page = await ask("GET", `/automations?limit=${A_PAGE}${from}`);
  byId("automations").append(...page.items.map(row));
  byId("empty").hidden = byId("automations").childElementCount > 0;
  next = page.next;
  byId("more").hidden = !next;
}

await arrive(async () => {
  onPress(byId("more"), fill);
  await fill();
});
