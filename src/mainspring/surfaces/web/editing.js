// Other words for a draft: a form for the fields that may be changed, and the difference.

import { ask, sentence } from "./page.js";
import { changeLine } from "./diff.js";
import { el } from "./parts.js";
import { capital, plain } from "./words.js";
import { fieldsOf } from "./delivering.js";

const isList = (given) => Array.isArray(given) && given.every((one) => typeof one === "string");
const isPlain = (given) => given === undefined || given === null || typeof given === "string";

export function spelt(given) {
  if (isPlain(given)) return given || "";
  return isList(given) ? given.join(", ") : JSON.stringify(given, null, 2);
}

// What somebody wrote, in the form that the field had; an empty field is taken away.
export function read(text, before) {
  if (text.trim() === "") return null;
  if (isPlain(before)) return text;
  if (isList(before)) return text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean);
  return JSON.parse(text);
}

// The fields that are different now, each with what it was and what it would be.
export function changes(before, written) {
  const found = [];
  for (const [name, text] of Object.entries(written)) {
    if (text === spelt(before[name])) continue;
    found.push({ name, before: before[name], after: read(text, before[name]) });
  }
  return found;
}

export const editsOf = (found) => Object.fromEntries(found.map((one) => [one.name, one.after]));

function change({ name, before, after }) {
  const was = before === undefined || before === null;
  const op = after === null ? "remove" : was ? "add" : "replace";
  return changeLine({ op, pointer: name, before, after });
}

export function editForm(draft, done) {
  const before = fieldsOf(draft);
  const controls = new Map();
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const difference = el("ul", { class: "changes" });
  const keep = el("button", { type: "submit", disabled: true }, "Keep these words");
  const told = (words) => {
    problem.textContent = words;
    problem.hidden = !words;
  };
  const found = () => changes(before, Object.fromEntries([...controls].map(([name, one]) => [name, one.value])));
  const look = () => {
    try {
      const now = found();
      difference.replaceChildren(...now.map(change));
      keep.disabled = !now.length;
      told("");
    } catch {
      keep.disabled = true;
      told("One of the fields is not JSON any more.");
    }
  };
  const lines = draft.editable.map((name) => {
    const text = spelt(before[name]);
    const id = `edit-${draft.id}-${name}`;
    const control = el("textarea", { id, name, class: "prose", rows: Math.min(12, Math.max(1, text.split("\n").length)) }, text);
    control.value = text;
    control.addEventListener("input", look);
    controls.set(name, control);
    return el("div", { class: "field" }, el("label", { for: id }, capital(plain(name))), control);
  });
  const form = el("form", { class: "edit", hidden: true }, ...lines,
    el("p", { class: "hint" }, "What changes:"), difference, problem, el("div", { class: "deeds" }, keep));
  form.addEventListener("reset", () => {
    difference.replaceChildren();
    keep.disabled = true;
    told("");
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    keep.disabled = true;
    try {
      await ask("POST", `/drafts/${draft.id}/edit`, { edits: editsOf(found()), hash: draft.hash });
      await done();
    } catch (refusal) {
      told(sentence(refusal));
      keep.disabled = false;
    }
  });
  return form;
}
