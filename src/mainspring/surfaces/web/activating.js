// What is read about the cost of an automation, and what is worth a look, before it is set going.

import { el } from "./parts.js";

const MOST_FLAGS = 5;

export function costLines(forecast, flags) {
  if (!forecast) return [el("p", {}, "What it costs could not be looked up just now; its caps hold all the same.")];
  const why = [forecast.runs_per_month.why, forecast.usd_per_run.why];
  const free = forecast.usd_per_run.basis === "free";
  return [
    el("p", {}, forecast.sentence),
    free ? null : el("p", { class: "hint" }, why.join(" ")),
    forecast.notes.length ? el("ul", { class: "hint" }, ...forecast.notes.map((one) => el("li", {}, one))) : null,
    ...flagLines(flags),
  ].filter(Boolean);
}

// The gravest come first; the rest is not kept back, only counted.
function flagLines(flags) {
  if (!flags.length) return [];
  const ranked = [...flags.filter((one) => one.level === "warning"), ...flags.filter((one) => one.level !== "warning")];
  const shown = ranked.slice(0, MOST_FLAGS).map((one) => el("li", {}, one.text, one.suggestion ? ` ${one.suggestion}` : ""));
  const more = ranked.length - shown.length;
  const rest = el("p", { class: "hint" }, `and ${more} more: `, el("code", {}, "mainspring review"), " shows all of them.");
  return [el("h3", {}, "Worth a look"), el("ul", {}, ...shown), more > 0 ? rest : null];
}
