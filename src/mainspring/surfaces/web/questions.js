// Questions that only a person can answer, as required fields: choices where there are some, and
// something else where that may be said.

import { placeWords } from "./editor.js";
import { el } from "./parts.js";
import { same } from "./pointers.js";
import { kindOf, readLines, readNumber, settled } from "./schema.js";

const ELSE = "else";
const BY_HAND = { label: "Only by hand", value: "by hand" };
const HINTS = {
  schedule: "In words, such as: every weekday at 9 Berlin time",
  time_zone: "A zone or a place, such as Europe/Berlin or Tokyo",
};

function choicesOf(question, schema) {
  if (question.choices.length) {
    const hand = question.kind === "schedule" && !question.choices.some((one) => one.value === null || /by hand/i.test(one.label));
    return [...question.choices, ...(hand ? [BY_HAND] : [])];
  }
  if (question.kind === "schedule") return [];
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => ({ label: String(value), value }));
  if (schema.type === "boolean") return [{ label: "Yes", value: true }, { label: "No", value: false }];
  return [];
}

const isClosed = (question, schema) =>
  question.kind === "value" && (Array.isArray(schema.enum) || schema.type === "boolean");

// Where an answer is written freely, and how it is read.
function freeField(question, schema) {
  if (question.kind === "schedule") return [el("input", { autocomplete: "off" }), (text) => text.trim()];
  if (question.kind === "time_zone") return [el("input", { autocomplete: "off", list: "zones" }), (text) => text.trim()];
  if (question.kind === "words") return [el("textarea", { rows: "3", class: "prose" }), (text) => text.trim()];
  const kind = kindOf(schema, undefined, schema);
  if (kind === "number") return [el("input", { inputmode: "decimal", autocomplete: "off" }), (text) => readNumber(text, false)];
  if (kind === "lines") return [el("textarea", { rows: "2", class: "prose" }), readLines];
  if (kind === "text") return [el("textarea", { rows: "3", class: "prose" }), (text) => text.trim()];
  if (kind === "code") return [el("textarea", { rows: "1", class: "code", spellcheck: "false" }), (text) => text.trim()];
  if (kind === "json" || kind === "group") return [el("textarea", { rows: "3", class: "code", spellcheck: "false" }), readAnything];
  return [el("input", { autocomplete: "off", list: kind === "zone" ? "zones" : null }), (text) => text.trim()];
}

// JSON where it is JSON, else the words themselves; the server knows what fits.
export function readAnything(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}

class Asked {
  constructor(question, definition, go) {
    this.question = question;
    this.schema = settled(question.schema, question.schema);
    this.id = `q-${question.id}`;
    this.choices = choicesOf(question, this.schema);
    [this.free, this.read] = isClosed(question, this.schema) ? [null, null] : freeField(question, this.schema);
    this.problem = el("p", { class: "field-problem", id: `${this.id}-problem`, hidden: true });
    this.node = this.choices.length ? this.chosen() : this.written();
    this.belongs(definition, go);
  }

  // Where the answer goes, which is a way there as well.
  belongs(definition, go) {
    const { pointer, why, kind } = this.question;
    const button = el("button", { type: "button", class: "link" }, placeWords(definition, pointer));
    button.addEventListener("click", () => go(pointer));
    const there = kind === "words" || !pointer ? [] : ["For ", button, ". "];
    this.node.append(el("p", { class: "hint" }, ...there, why), this.problem);
  }

  written() {
    const { question } = this;
    this.free.id = this.id;
    this.free.required = true;
    const hint = HINTS[question.kind];
    if (hint) this.free.placeholder = hint;
    return el("div", { class: "question" }, el("label", { for: this.id }, question.question), this.free);
  }

  chosen() {
    const line = (value, words, ...more) => {
      const radio = el("input", { type: "radio", name: this.id, value, required: true, id: `${this.id}-${value}` });
      return el("div", {}, el("label", { class: "check", for: radio.id }, radio, el("span", {}, words)), ...more);
    };
    const lines = this.choices.map((one, place) => line(String(place), one.label));
    if (this.free) {
      this.free.id = `${this.id}-words`;
      this.free.setAttribute("aria-label", `${this.question.question} Something else`);
      this.free.placeholder = HINTS[this.question.kind] || "";
      this.free.disabled = true;
      lines.push(line(ELSE, "Something else", this.free));
    }
    const made = el("fieldset", { class: "question", id: this.id, tabindex: "-1" }, el("legend", {}, this.question.question), ...lines);
    made.addEventListener("change", (event) => {
      this.dress();
      if (this.free && event.target.value === ELSE) this.free.focus();
    });
    return made;
  }

  get picked() {
    return this.node.querySelector("input[type=radio]:checked")?.value;
  }

  dress() {
    if (!this.free) return;
    const other = this.picked === ELSE;
    this.free.disabled = !other;
    this.free.required = other;
  }

  // The answer; undefined while there is none.
  get answer() {
    if (this.choices.length && this.picked !== ELSE) {
      return this.picked === undefined ? undefined : this.choices[Number(this.picked)].value;
    }
    return this.free.value.trim() ? this.read(this.free.value) : undefined;
  }

  write(answer) {
    const place = this.choices.findIndex((one) => same(one.value, answer));
    const name = place >= 0 ? String(place) : ELSE;
    const radio = this.node.querySelector(`input[type=radio][value="${name}"]`);
    if (radio) radio.checked = true;
    if (this.choices.length) this.dress();
    if (place < 0 && this.free) this.free.value = typeof answer === "string" ? answer : JSON.stringify(answer);
  }

  say(words) {
    this.problem.textContent = words;
    this.problem.hidden = !words;
    const field = this.choices.length ? this.node : this.free;
    if (words) {
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", this.problem.id);
    } else {
      field.removeAttribute("aria-invalid");
    }
  }
}

export class Questions {
  // A question is asked beside the words for its place, which lead there.
  constructor(host, lead) {
    Object.assign(this, { host, lead });
    this.asked = new Map();
  }

  show(proposal, kept = {}) {
    this.asked = new Map(proposal.questions.map((one) => [one.id, new Asked(one, proposal.definition, this.lead)]));
    this.host.replaceChildren(...[...this.asked.values()].map((one) => one.node));
    for (const [id, answer] of Object.entries(kept)) this.asked.get(id)?.write(answer);
  }

  get answers() {
    const given = [...this.asked].map(([id, one]) => [id, one.answer]);
    return Object.fromEntries(given.filter(([, answer]) => answer !== undefined));
  }

  say(id, words) {
    const found = this.asked.get(id);
    if (!found) return false;
    found.say(words);
    return true;
  }

  go(id) {
    const node = this.asked.get(id).node;
    node.scrollIntoView({ block: "center" });
    (node.querySelector("input:not([type=radio]):enabled, textarea:enabled") || node.querySelector("input")).focus({ preventScroll: true });
  }

  hush() {
    for (const one of this.asked.values()) one.say("");
  }
}
