// Questions of plans: a run waits until a person answers, in the form that its plan asks for.

import { ask, isAtLeast, sentence } from "./page.js";
import { el, json, link } from "./parts.js";
import { field, fieldId, fieldsOf } from "./fields.js";
import { above, isObject, put, under, valueAt } from "./pointers.js";
import { settled } from "./schema.js";
import { away, visible } from "./words.js";

const hasFields = (schema) => schema.type === "object" && Object.keys(schema.properties || {}).length > 0;

// What a form begins with: what it says is usual, and no where only yes or no can be said.
export function begun(form, root) {
  const schema = settled(form, root);
  if (schema.default !== undefined) return schema.default;
  if (schema.type === "boolean") return false;
  if (!hasFields(schema)) return undefined;
  const needed = new Set(schema.required || []);
  const made = Object.entries(schema.properties).map(([name, inner]) => {
    const one = settled(inner, root);
    const shown = needed.has(name) || one.default !== undefined || one.type === "boolean";
    return [name, shown ? begun(one, root) : undefined];
  });
  return Object.fromEntries(made.filter(([, value]) => value !== undefined));
}

// Where an answer is written: what stands in its fields, and what is said about them.
export class Desk {
  constructor(question) {
    // Several forms stand on one page: each begins its places with the id of its question.
    this.top = under("", question.approval_id, "answer");
    Object.assign(this, { plain: true, asked: new Map(), filters: [], places: new Map(), wrong: new Map() });
    const form = question.form;
    this.draft = put({}, this.top, begun(form, form));
    const given = { schema: settled(form, form), root: form, value: this.answer, at: this.top, desk: this };
    const whole = el("div", { class: "said", id: fieldId(this.top) });
    this.place(this.top, whole, whole);
    this.parts = hasFields(given.schema)
      ? [whole, ...fieldsOf(given)]
      : [field({ ...given, schema: { title: "Answer", ...given.schema }, name: "answer", required: true })];
  }

  get answer() {
    return valueAt(this.draft, this.top);
  }

  set(at, value) {
    this.draft = put(this.draft, at, value);
    this.hush(at);
  }

  bad(at, words) {
    this.hush(at);
    if (words) this.wrong.set(at, words);
    else this.wrong.delete(at);
    if (words) this.say(at, words);
  }

  place(at, place, line) {
    this.places.set(at, { place, line });
  }

  // Everything that is asked is shown.
  isTalkedOf() {
    return true;
  }

  steps(value, at, title) {
    return el("div", { class: "field" }, title, json(value));
  }

  // At the field that it is about, or at the nearest around it.
  say(pointer, words) {
    let at = pointer;
    while (at && !this.places.has(at)) at = above(at);
    const found = this.places.get(at);
    if (!found) return null;
    found.place.append(el("p", { class: "flag wrong", "data-at": at }, words));
    const control = document.getElementById(fieldId(at));
    control?.setAttribute("aria-invalid", "true");
    return control;
  }

  hush(at) {
    for (const [name, { place }] of this.places) {
      if (at !== undefined && name !== at) continue;
      place.replaceChildren();
      document.getElementById(fieldId(name))?.removeAttribute("aria-invalid");
    }
  }

  // What the server found, each at its field; answers whether every finding has one.
  find(problem) {
    const found = (problem.told && problem.told.errors) || [];
    const words = (one) => (one.code === "required" ? "This is asked for." : one.detail);
    const places = found.map((one) => this.say(this.top.replace(/\/answer$/, one.pointer), words(one)));
    places.find(Boolean)?.focus();
    return places.length > 0 && places.every(Boolean);
  }
}

function left(question) {
  const usual = question.default;
  const after = usual === null || usual === undefined ? "its step fails"
    : `the answer is ${visible(isObject(usual) ? JSON.stringify(usual) : String(usual))}`;
  return `If nobody answers ${away(question.expires_at)}, ${after}.`;
}

const mayAnswer = (who, question) =>
  isAtLeast(who, "operator") && (!question.roles || question.roles.includes(who.role));

function closed(who, question) {
  const whom = question.roles ? question.roles.join(" or ") : "operator or more";
  return el("p", { class: "hint" }, `Your role here (${who.role}) may look; answering takes ${whom}.`);
}

// One question with its form. What is done when it was answered is told by whoever shows it.
export function questionCard(who, question, done) {
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const parts = [
    el("div", { class: "head" }, el("strong", { class: "preview" }, visible(question.title)), el("span", { class: "badge busy" }, "question")),
    el("p", { class: "soft" }, "Asked by ", link(`/automations/${question.automation_id}`, question.automation), ", in ",
      link(`/automations/${question.automation_id}#run-${question.run_id}`, "this run"), `, ${away(question.created_at)}. `, left(question)),
    question.message ? el("p", { class: "message asks" }, visible(question.message)) : null,
  ];
  if (!mayAnswer(who, question)) return el("li", {}, ...parts, closed(who, question));
  const desk = question.form ? new Desk(question) : null;
  const form = el("form", { class: "answer", novalidate: true, "aria-label": visible(question.title) });
  const deed = (decision, words, look) => {
    const button = el("button", { type: decision === "approved" ? "submit" : "button", class: look, "aria-label": `${words}: ${visible(question.title)}` }, words);
    return [button, () => answer({ question, desk, form, problem, decision, done })];
  };
  const [yes, approve] = deed("approved", desk ? "Approve with this answer" : "Approve", "");
  const [no, decline] = deed("declined", "Decline", "second");
  form.append(...(desk ? desk.parts : []), problem, el("div", { class: "deeds" }, yes, no));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    approve();
  });
  no.addEventListener("click", decline);
  return el("li", {}, ...parts.filter(Boolean), form);
}

async function answer({ question, desk, form, problem, decision, done }) {
  const approved = decision === "approved";
  problem.hidden = true;
  if (approved && desk && desk.wrong.size) return;
  desk?.hush();
  const buttons = form.querySelectorAll("button");
  for (const one of buttons) one.disabled = true;
  const given = approved && desk && desk.answer !== undefined ? { answer: desk.answer } : {};
  try {
    await ask("POST", `/approvals/${question.approval_id}/answer`, { decision, ...given });
    await done(question, decision);
  } catch (refusal) {
    for (const one of buttons) one.disabled = false;
    if (desk && desk.find(refusal)) return;
    problem.textContent = sentence(refusal);
    problem.hidden = false;
  }
}
