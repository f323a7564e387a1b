// Small parts that pages are put together from. Text only ever becomes text.

import { plain, TONES, visible } from "./words.js";

// An element with its attributes and what it holds: elements, or text.
export function el(name, given = {}, ...held) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") made.className = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...held.filter((one) => one !== null && one !== undefined && one !== false && one !== ""));
  return made;
}

export const badge = (word) => el("span", { class: `badge ${TONES[word] || ""}` }, plain(word));

export const link = (address, words) => el("a", { href: address }, words);

export const runAddress = (run) => `/automations/${run.automation_id}#run-${run.id}`;

// A text with its lines numbered; the numbers are not part of what is copied or read aloud.
export function numbered(text, label) {
  const lines = text.replace(/\n$/, "").split("\n");
  const numbers = lines.map((_, place) => place + 1).join("\n");
  return el(
    "div",
    { class: "source", tabindex: "0", role: "region", "aria-label": label },
    el("pre", { class: "numbers", "aria-hidden": "true" }, numbers),
    el("pre", {}, el("code", {}, visible(lines.join("\n")))),
  );
}

export const json = (value) =>
  el("pre", { class: "data", tabindex: "0" }, visible(JSON.stringify(value, null, 2)));

// What somebody is told in passing; a screen reader says it too.
const IN_PASSING = 8000;
let leaving = 0;

export function tell(words) {
  const place = document.getElementById("told");
  place.hidden = false;
  place.textContent = words;
  clearTimeout(leaving);
  leaving = setTimeout(() => (place.hidden = true), IN_PASSING);
}
