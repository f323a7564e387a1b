// A definition as a form: every field of it can be changed. What is written is kept in a copy,
// and what is different from the proposal goes to the server as edits.

import { field, fieldId, fieldsOf } from "./fields.js";
import { el } from "./parts.js";
import { above, asRequest, editsBetween, isObject, partsOf, put, under, valueAt } from "./pointers.js";
import { settled } from "./schema.js";
import { capital, triggerWords } from "./words.js";

const FIRST = ["name", "goal"];
const OWN = [...FIRST, "schema_version", "triggers", "plan"];

export class Editor {
  // What there is to write with: the schemas, every word, and the filters of templates.
  constructor(host, schemas, onChange) {
    Object.assign(this, { host, onChange, filters: schemas.templates.filters });
    this.root = schemas.definition;
    const { actions, capabilities, triggers } = schemas.vocabulary;
    this.actions = new Map([
      ...capabilities.map((one) => [one.id, { schema: one.input_schema, description: one.description }]),
      ...actions.map((one) => [one.type, { schema: one.config_schema, description: one.description }]),
    ]);
    this.triggers = new Map(triggers.map((one) => [one.type, one.config_schema]));
  }

  // Shows a proposal; what somebody wrote before and the server has not seen stays written.
  show(proposal, kept = []) {
    this.before = proposal.definition;
    this.draft = kept.reduce((made, one) => put(made, one.pointer, one.value), proposal.definition);
    this.asked = new Map(proposal.questions.flatMap((one) => [one.pointer, ...one.others].map((at) => [at, one])));
    this.flags = [
      ...proposal.problems.map((one) => ({ ...one, level: "problem", text: one.detail })),
      ...proposal.review.flags,
    ].map((one) => ({ ...one, pointer: fieldOf(one) }));
    this.draw();
  }

  draw() {
    this.places = new Map();
    this.wrong = new Map();
    this.host.replaceChildren(...(isObject(this.draft) ? this.parts() : []));
    for (const one of this.flags) {
      this.say(one.pointer, one.text, one.level, one.suggestion);
      this.unfold(this.nearest(one.pointer)[1]?.line);
    }
  }

  parts() {
    const top = settled(this.root, this.root);
    const of = (names) => names.filter((name) => top.properties[name]).map((name) => field({
      name, schema: top.properties[name], root: this.root, value: this.draft[name] ?? undefined,
      at: under("", name), required: (top.required || []).includes(name), desk: this,
    }));
    const entries = (name) => (Array.isArray(this.draft[name]) ? this.draft[name] : []);
    const lists = [this.starts(entries("triggers")), this.steps(entries("plan"), "/plan", "What it does")];
    const rest = fieldsOf({ schema: top, root: this.root, value: this.draft, at: "", desk: this, leave: OWN });
    return [
      ...of(FIRST), ...lists,
      el("details", { class: "rest" }, el("summary", {}, "Bounds, inputs and the rest"), ...rest),
    ];
  }

  starts(entries) {
    const cards = entries.map((trigger, place) => {
      const at = under("/triggers", place);
      const shape = settled(this.root.$defs.Trigger, this.root);
      const config = this.triggers.get(trigger?.type) || {};
      const words = trigger?.type === "schedule" && !trigger.config?.cron ? "On a schedule" : capital(triggerWords(trigger ?? {}));
      return this.card(at, [el("strong", {}, words)], [
        ...this.config(config, trigger?.config, under(at, "config")),
        this.folded("About this trigger", fieldsOf({ schema: shape, root: this.root, value: trigger, at, desk: this, leave: ["config"] })),
      ], "trigger");
    });
    return this.list("/triggers", "What starts it", cards, "Nothing: it is run by hand.");
  }

  steps(entries, at, title) {
    const cards = entries.map((step, place) => this.step(step, under(at, place)));
    return this.list(at, title, cards, "There is no step yet.");
  }

  step(step, at) {
    const shape = settled(this.root.$defs.Step, this.root);
    const known = this.actions.get(step?.action);
    const head = [el("strong", {}, String(step?.step_id ?? "")), " ", el("code", { class: "soft" }, String(step?.action ?? ""))];
    const said = step?.description || (known && known.description.split("\n")[0]);
    return this.card(at, head, [
      said ? el("p", { class: "soft" }, said) : null,
      ...(Object.hasOwn(step ?? {}, "when") ? [field({ name: "when", schema: shape.properties.when, root: this.root, value: step.when ?? undefined, at: under(at, "when"), desk: this })] : []),
      ...this.config(known?.schema, step?.config, under(at, "config")),
      this.folded("About this step", fieldsOf({ schema: shape, root: this.root, value: step, at, desk: this, leave: ["config", ...(step?.when === undefined ? [] : ["when"])] })),
    ], "step");
  }

  config(schema, value, at) {
    const known = schema && Object.keys(schema.properties || {}).length && (value === undefined || isObject(value));
    if (known) {
      const place = el("div", { class: "said", id: fieldId(at) });
      this.place(at, place, place);
      return [place, ...fieldsOf({ schema, root: schema, value: value ?? {}, at, desk: this })];
    }
    if (schema && schema.properties && !Object.keys(value ?? {}).length) return [];
    return [field({ name: "config", schema: {}, root: {}, value, at, desk: this })];
  }

  folded(words, fields) {
    return el("details", { class: "more" }, el("summary", {}, words), ...fields);
  }

  card(at, head, held, kind) {
    const place = el("div", { class: "said" });
    const button = el("button", { type: "button", class: "plain", "aria-label": `Take this ${kind} out` }, "Take out");
    button.addEventListener("click", () => {
      this.set(at, undefined);
      this.draw();
      this.onChange();
    });
    // A question points at a place by its number, which would be another one's.
    button.hidden = this.asked.size > 0;
    const card = el("li", { class: "card", id: fieldId(at), tabindex: "-1" },
      el("div", { class: "head" }, el("div", {}, ...head), button), place, ...held.filter(Boolean));
    this.place(at, place, card);
    return card;
  }

  list(at, title, cards, none) {
    const place = el("div", { class: "said" });
    const made = el("fieldset", { class: "whole", id: fieldId(at) }, el("legend", {}, title), place,
      cards.length ? el("ol", { class: "cards" }, ...cards) : el("p", { class: "soft" }, none));
    this.place(at, place, made);
    return made;
  }

  // What fields ask of their desk.
  set(at, value) {
    this.draft = put(this.draft, at, value);
    this.onChange();
  }

  bad(at, words) {
    if (words) this.wrong.set(at, words);
    else this.wrong.delete(at);
    this.hush("wrong", at);
    if (words) this.say(at, words, "wrong");
    this.onChange();
  }

  place(at, place, line) {
    this.places.set(at, { place, line });
  }

  isTalkedOf(at) {
    return this.asked.has(at) || this.flags.some((one) => one.pointer === at || one.pointer.startsWith(`${at}/`));
  }

  nearest(pointer) {
    let at = pointer;
    while (at && !this.places.has(at)) at = above(at);
    return [at, this.places.get(at)];
  }

  // Says something at the field that it is about, or at the nearest around it.
  say(pointer, text, level, suggestion) {
    const [at, found] = this.nearest(pointer);
    if (!found) return false;
    found.place.append(el("p", { class: `flag ${level}`, "data-at": pointer }, text, suggestion ? ` ${suggestion}` : ""));
    const control = document.getElementById(fieldId(at));
    if (["problem", "wrong", "refused"].includes(level)) control?.setAttribute("aria-invalid", "true");
    return true;
  }

  hush(level, at) {
    for (const one of this.host.querySelectorAll(`.flag.${level}`)) {
      if (at !== undefined && one.dataset.at !== at) continue;
      one.remove();
    }
    for (const one of this.host.querySelectorAll("[aria-invalid]")) {
      if (!one.closest(".field")?.querySelector(".flag.problem, .flag.wrong, .flag.refused")) one.removeAttribute("aria-invalid");
    }
  }

  unfold(line) {
    for (let one = line; one && one !== this.host; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  }

  // Goes to a field, and opens whatever is folded around it.
  go(pointer) {
    const [at, found] = this.nearest(pointer);
    if (!found) return;
    this.unfold(found.line);
    const control = document.getElementById(fieldId(at));
    found.line.scrollIntoView({ block: "center" });
    (control && !control.hidden ? control : found.line).focus({ preventScroll: true });
  }

  get edits() {
    return editsBetween(this.before, this.draft);
  }

  get request() {
    return asRequest(this.edits, this.draft);
  }
}

// A flag about what is missing is shown where it would stand, and one about an action at its step.
function fieldOf({ code, pointer }) {
  if (code === "no_output_schema" && !pointer.endsWith("/output_schema")) return under(pointer, "output_schema");
  return pointer.replace(/^(.*\/[0-9]+)\/(action|type)$/, "$1");
}

// A place in words: "the step post, channel".
export function placeWords(definition, pointer) {
  const parts = partsOf(pointer);
  const [list, number, ...inner] = parts;
  const names = inner.filter((one) => !["config", "action", "type"].includes(one)).map((one) => one.replaceAll("_", " "));
  const holder = valueAt(definition, under("", ...parts.slice(0, 2)));
  if (list === "plan" && number !== undefined) return [`the step ${holder?.step_id ?? Number(number) + 1}`, ...names].join(", ");
  if (list === "triggers" && number !== undefined) return ["what starts it", ...names].join(", ");
  return parts.length ? parts.map((one) => one.replaceAll("_", " ")).join(", ") : "the whole";
}
