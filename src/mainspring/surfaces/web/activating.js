// What is read about an automation before it is set going: what it may do beyond what was agreed to,
// what it costs, and what is worth a look.

import { el } from "./parts.js";

const MOST_FLAGS = 5;

const ORIGINS = {
  install: "It was installed from a recipe.",
  upgrade: "An upgrade lets it do more than was agreed to.",
  import: "It was imported from a file.",
  edit: "A program has changed it.",
};

// Each thing that waits for a person, in its own sentence; nothing where nothing waits.
export function consentLines(consent) {
  if (!consent) return [];
  const refused = consent.status === "refused" ? " Somebody has refused it before." : "";
  return [
    el("h3", {}, "It waits for your consent"),
    el("p", {}, `${ORIGINS[consent.origin] || ""}${refused}`),
    el("ul", {}, ...consent.additions.map((one) => el("li", {}, one.says))),
  ];
}

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
