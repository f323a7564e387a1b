// A rehearsal: what would have gone otherwise, firing by firing.

import { ask } from "./page.js";
import { badge, el } from "./parts.js";
import { moment, visible } from "./words.js";

const cost = (side) => (side ? `$${side.cost_usd}` : "");

function deeds(side) {
  if (!side) return "not run";
  const done = side.deeds.map((one) => `${one.what} ${one.capability}`);
  return done.length ? done.join(", ") : "changed nothing";
}

const code = (value) => el("code", {}, visible(JSON.stringify(value)));

function fieldLine(one) {
  return el("li", {}, el("code", {}, one.pointer || "/"), " ", code(one.then), " → ", code(one.now));
}

function difference(one) {
  const fields = (one.fields || []).map(fieldLine);
  return el("li", {}, one.says, fields.length ? el("ul", {}, ...fields) : "");
}

function firing(one) {
  const at = (one.then || one.now)?.at;
  const live = (one.now?.live || []).length;
  return el("li", {},
    el("strong", {}, at ? moment(at) : ""), " ",
    one.done ? el("span", { class: `badge ${one.otherwise ? "busy" : "good"}` }, one.otherwise ? "otherwise" : "the same") : badge("running"),
    el("p", { class: "soft" }, `Then: ${deeds(one.then)} ${cost(one.then)} · Now: ${deeds(one.now)} ${cost(one.now)}`),
    one.note ? el("p", { class: "soft" }, one.note) : "",
    live ? el("p", { class: "soft" }, `${live} of its answers were on no record and were asked for now.`) : "",
    el("ul", {}, ...one.differences.map(difference)));
}

// What there is to see of it, finished or not.
export function rehearsalParts(found) {
  return [
    el("p", { class: "said-large" }, found.summary),
    el("ul", { class: "list" }, ...found.firings.map(firing)),
    el("p", { class: "soft" }, `The rehearsal itself cost $${found.spent_usd}.`),
  ];
}

const LOOK_AGAIN_MS = 500;

// Rehearses, and shows what there is so far until all of it is there.
export async function rehearseInto(place, id, given) {
  let found = await ask("POST", `/automations/${id}/rehearsals`, { ...given, wait_seconds: 10 });
  while (!found.done) {
    place.replaceChildren(...rehearsalParts(found));
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    found = await ask("GET", `/rehearsals/${found.rehearsal_id}`);
  }
  place.replaceChildren(...rehearsalParts(found));
}
