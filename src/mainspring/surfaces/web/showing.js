// Fills the page of a proposal with what is to be read of it.

import { byId } from "./page.js";
import { el, link } from "./parts.js";
import { isObject } from "./pointers.js";
import { changeParts, flagLines, isStrict, madeBy, overlapLines, price, reach } from "./review.js";
import { moment } from "./words.js";

const TONES = { asks: ["busy", "has questions"], invalid: ["bad", "is not right yet"], ready: ["good", "ready"], saved: ["good", "saved"] };
export const count = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;

export function part(name, there) {
  byId(`${name}-part`).hidden = !there;
}

export function fillHead(proposal) {
  const { definition, review, status } = proposal;
  const name = typeof definition.name === "string" ? definition.name : "Without a name";
  document.title = `${name} · Proposal · Mainspring`;
  byId("name").textContent = name;
  byId("kind").replaceChildren(proposal.automation_id ? "A change of " : "A new automation",
    proposal.automation_id ? link(`/automations/${proposal.automation_id}`, "an automation") : "",
    ` · kept until ${moment(proposal.expires_at)}`);
  const [tone, words] = TONES[status];
  byId("status").replaceChildren(el("span", { class: `badge ${tone}` }, words));
  byId("summary").textContent = review.summary || "";
  byId("opinion").textContent = review.opinion ? `A model says of it: ${review.opinion}` : "";
  byId("opinion").hidden = !review.opinion;
  byId("explained").replaceChildren(...(review.explained || []).map((one) => el("li", {}, one)));
  part("explained", (review.explained || []).length > 1);
  byId("request").textContent = proposal.request;
  byId("made-by").textContent = madeBy(proposal);
  byId("notes").replaceChildren(...proposal.notes.map((one) => el("li", {}, one)));
  byId("notes").hidden = proposal.notes.length === 0;
  byId("saved-as").hidden = status !== "saved";
  if (proposal.saved_as) byId("saved-link").href = `/automations/${proposal.saved_as}`;
}

// Everything below the head; what is worth a look leads to its field.
export function fillReview(proposal, goTo) {
  const { review } = proposal;
  const open = proposal.questions.length;
  byId("questions-title").textContent = `${count(open, "question")} before it can be saved`;
  part("questions", open > 0);
  part("change", isObject(review.change));
  if (review.change) byId("change").replaceChildren(...changeParts(review));
  const flags = flagLines(proposal, goTo);
  byId("flags").replaceChildren(...flags);
  part("flags", flags.length > 0);
  byId("price").replaceChildren(...price(review.forecast));
  byId("reach").replaceChildren(...reach(review.impact));
  const others = overlapLines(review.overlaps);
  byId("overlaps").replaceChildren(...others);
  part("overlaps", others.length > 0);
  part("note", isStrict(review.overlaps));
  const talk = proposal.talk.filter((one) => one.text);
  byId("talk").replaceChildren(...talk.map((one) =>
    el("li", { class: one.by }, el("strong", {}, one.by === "person" ? "You" : "Proposal"), " ", one.text)));
  part("talk", talk.length > 1);
}
