// Fields that are made from JSON Schemas. Each tells its desk what was written, and has a place
// for what is to be said about it. At a plain desk people answer: no templates, no names of code.

import { el } from "./parts.js";
import { isObject, under } from "./pointers.js";
import { palette } from "./palette.js";
import { isTemplate, kindOf, readLines, readNumber, settled, titleOf } from "./schema.js";

export const fieldId = (at) => `at${at}`;

const spelt = (value) => (value === undefined ? "" : JSON.stringify(value, null, 2));
const rowsFor = (text, least, most) => Math.min(most, Math.max(least, text.split("\n").length + Math.floor(text.length / 90)));

// Kinds of text that a browser has a field of its own for.
const PICKED = { date: "date", time: "time", email: "email" };

function hintOf(schema, desk) {
  const said = [schema.description || ""];
  const usual = schema.default;
  if (!desk.plain && usual !== undefined && usual !== null && !isObject(usual) && !Array.isArray(usual) && usual !== "") {
    said.push(`If left out: ${usual}.`);
  }
  return said.filter(Boolean).join(" ");
}

// One line of the form: what it is called, the field, a hint, and what is said about it.
function framed(made, control, { title, hint, more = [] }) {
  const { at, name, required, desk } = made;
  const place = el("div", { class: "said" });
  control.id = fieldId(at);
  const hints = hint ? el("p", { class: "hint", id: `${fieldId(at)}-hint` }, hint) : null;
  if (hints) control.setAttribute("aria-describedby", hints.id);
  const asked = desk.asked.get(at);
  const label = el("label", { for: control.id }, title, " ", desk.plain ? left(required)
    : title.toLowerCase().replaceAll(" ", "_") === name ? null : el("code", { class: "soft" }, name));
  const small = control.tagName !== "TEXTAREA" && !asked;
  const line = el("div", { class: small ? "field small-field" : "field" }, label,
    asked ? el("p", { class: "asked" }, "Still a question: ", el("a", { href: `#q-${asked.id}` }, asked.question)) : null,
    control, ...more, hints, place);
  if (asked) {
    control.hidden = true;
    if (hints) hints.hidden = true;
  }
  if (required && !asked) control.setAttribute("aria-required", "true");
  desk.place(at, place, line);
  return line;
}

const left = (required) => (required ? null : el("span", { class: "optional" }, "(may be left out)"));

function textField(made, kind, schema, value) {
  const { at, desk } = made;
  const large = kind !== "line" && kind !== "zone";
  const text = value ?? "";
  const control = large
    ? el("textarea", { rows: rowsFor(text, kind === "text" ? 3 : 1, 16), spellcheck: kind === "text" ? "true" : "false" })
    : el("input", { autocomplete: "off", list: kind === "zone" ? "zones" : null, type: desk.plain ? PICKED[schema.format] : null });
  control.value = text;
  const filters = palette(control, desk.filters);
  const dress = () => {
    const coded = !desk.plain && (kind === "code" || isTemplate(control.value));
    control.classList.toggle("code", coded);
    control.classList.toggle("prose", !coded);
    // A script is no template, and a secret is only ever named.
    filters.hidden = desk.plain || !coded || schema["x-mainspring-widget"] === "typescript" || schema["x-mainspring-scope"] === "secret";
  };
  control.addEventListener("input", () => {
    dress();
    desk.set(at, control.value === "" && value !== "" ? undefined : control.value);
  });
  dress();
  return [control, [filters]];
}

function choiceField(made, schema, value) {
  const names = schema.enum.map((one) => String(one));
  const usual = schema.default === undefined || schema.default === null ? "" : ` (${schema.default})`;
  const control = el("select", {},
    ...(made.required && value !== undefined ? [] : [el("option", { value: "" }, made.desk.plain ? "Choose…" : `Left out${usual}`)]),
    ...names.map((one, place) => el("option", { value: String(place) }, one)));
  control.value = value === undefined ? "" : String(schema.enum.indexOf(value));
  control.addEventListener("change", () =>
    made.desk.set(made.at, control.value === "" ? undefined : schema.enum[Number(control.value)]));
  return control;
}

function yesField(made, schema, value, title, hint) {
  const { at, desk } = made;
  const place = el("div", { class: "said" });
  const control = el("input", { type: "checkbox", id: fieldId(at) });
  control.checked = value ?? schema.default ?? false;
  control.addEventListener("change", () => desk.set(at, control.checked));
  const label = el("label", { class: "check", for: control.id }, control, el("span", {}, title, hint ? el("span", { class: "hint line" }, hint) : null));
  const line = el("div", { class: "field small-field" }, label, place);
  desk.place(at, place, line);
  return line;
}

function numberField(made, schema, value) {
  const control = el("input", { inputmode: "decimal", autocomplete: "off", placeholder: schema.default ?? null });
  control.value = value ?? "";
  const asText = typeof value === "string" || (value === undefined && schema["x-mainspring-widget"] === "money");
  control.addEventListener("input", () => made.desk.set(made.at, readNumber(control.value, asText)));
  return control;
}

function linesField(made, value) {
  const text = (value ?? []).join("\n");
  const control = el("textarea", { rows: rowsFor(text, 2, 10), spellcheck: "false", class: "prose" });
  control.value = text;
  control.addEventListener("input", () => made.desk.set(made.at, readLines(control.value)));
  return control;
}

function jsonField(made, value) {
  const text = spelt(value);
  const control = el("textarea", { rows: rowsFor(text, 2, 16), spellcheck: "false", class: "code" });
  control.value = text;
  control.addEventListener("input", () => {
    if (!control.value.trim()) {
      made.desk.bad(made.at, null);
      made.desk.set(made.at, undefined);
      return;
    }
    try {
      const read = JSON.parse(control.value);
      made.desk.bad(made.at, null);
      made.desk.set(made.at, read);
    } catch {
      made.desk.bad(made.at, "This is not JSON yet.");
    }
  });
  return control;
}

// A field for one value, whatever its schema says.
export function field(made) {
  const { at, name, value, root, desk } = made;
  const schema = settled(made.schema, root);
  const kind = kindOf(schema, value, root);
  const [title, hint] = [titleOf(name, schema), hintOf(schema, desk)];
  if (kind === "group" && value !== undefined) return group({ ...made, schema, title });
  if (kind === "steps") return desk.steps(value, at, title);
  if (kind === "yes") return yesField(made, schema, value, title, hint);
  const frame = (control, ...also) =>
    framed(made, control, { title, hint: [hint, ...also].filter(Boolean).join(" "), more: [] });
  if (kind === "choice") return frame(choiceField(made, schema, value));
  if (kind === "number") return frame(numberField(made, schema, value));
  if (kind === "lines") return frame(linesField(made, value), "One on each line.");
  if (kind === "json" || kind === "group") return frame(jsonField(made, value), "As JSON.");
  const [control, more] = textField(made, kind, schema, value);
  return framed(made, control, { title, hint, more });
}

// The fields of an object: what is set or required first, all others folded away.
export function fieldsOf({ schema, root, value, at, desk, leave = [] }) {
  const known = Object.entries(schema.properties || {}).filter(([name]) => !leave.includes(name));
  const required = new Set(schema.required || []);
  const one = ([name, inner]) => ({
    name, schema: inner, root, value: value?.[name] ?? undefined, at: under(at, name), required: required.has(name), desk,
  });
  const isFront = (made) => made.value !== undefined || made.required || desk.isTalkedOf(made.at);
  const all = known.map(one);
  const others = Object.keys(value || {})
    .filter((name) => !Object.hasOwn(schema.properties || {}, name) && !leave.includes(name))
    .map((name) => one([name, {}]));
  const rest = all.filter((made) => !isFront(made));
  const front = [...all.filter(isFront), ...others];
  return [
    front.length ? grid(front.map(field)) : null,
    rest.length ? el("details", { class: "more" }, el("summary", {}, "More settings"), grid(rest.map(field))) : null,
  ].filter(Boolean);
}

// Small fields stand side by side where there is room.
export const grid = (fields) => el("div", { class: "grid" }, ...fields);

function group({ schema, root, value, at, desk, title }) {
  const place = el("div", { class: "said" });
  const made = el("fieldset", { id: fieldId(at) }, el("legend", {}, title), place,
    ...fieldsOf({ schema, root, value, at, desk }));
  desk.place(at, place, made);
  return made;
}
