// The filters of templates, to be put where somebody writes one.

import { el } from "./parts.js";

// What is written for a filter: its name, and what it cannot do without.
export function spellFilter(filter) {
  const needed = filter.parameters.filter((one) => !one.includes("="));
  const given = needed.map((one) => `"${one}"`).join(", ");
  return ` | ${filter.name}${given ? `(${given})` : ""}`;
}

// Where a filter goes: behind the value at the caret, else behind the one in the nearest braces.
function placeFor(text, caret) {
  const open = text.lastIndexOf("{{", caret);
  const inside = open >= 0 && text.lastIndexOf("}}", caret - 1) < open;
  let at = caret;
  while (/[\w.]/.test(text[at] ?? "")) at += 1;
  const before = text.slice(0, at).trimEnd();
  if (inside && before.length > open + 2 && /[\w)\]"']$/.test(before)) return before.length;
  const next = text.indexOf("}}", inside ? open : caret);
  const close = next < 0 ? text.lastIndexOf("}}") : next;
  return close < 0 ? null : text.slice(0, close).trimEnd().length;
}

// The text with a filter in it, and where the caret is then.
export function insertFilter(text, caret, filter) {
  const at = placeFor(text, caret);
  if (at === null) {
    const made = `{{ value${spellFilter(filter)} }}`;
    return [text.slice(0, caret) + made + text.slice(caret), caret + made.length];
  }
  const words = spellFilter(filter);
  const after = text.slice(at);
  return [text.slice(0, at) + words + (after.startsWith("}}") ? " " : "") + after, at + words.length];
}

export function palette(control, filters) {
  const chips = filters.map((filter) => {
    const button = el("button", { type: "button", class: "chip", title: filter.description }, filter.name);
    button.addEventListener("click", () => {
      const [text, caret] = insertFilter(control.value, control.selectionEnd ?? control.value.length, filter);
      control.value = text;
      control.dispatchEvent(new Event("input"));
      control.focus();
      control.setSelectionRange(caret, caret);
    });
    return button;
  });
  return el("details", { class: "palette", hidden: true },
    el("summary", {}, "Filters"), el("div", { class: "chips" }, ...chips));
}
