// What a person reads of a proposal before they agree: what it does, what is worth a look, what
// it costs, how far it reaches, who does the same already, and what a change changes.

import { changeLine } from "./diff.js";
import { placeWords } from "./editor.js";
import { badge, el, link } from "./parts.js";
import { boundWords, capital, plain, usd } from "./words.js";

const MOST_CHANGES = 60;
const EFFECTS = { send: "leaves the house", keep: "changes what is kept here", read: "only reads" };

const items = (lines) => lines.map((one) => el("li", {}, one));
const listed = (names) => names.join(", ");

export function madeBy(proposal) {
  const made = proposal.made_by;
  const said = [made.note || (made.by === "rules" ? "No model was used." : `${made.model} made it.`)];
  if (made.by === "model" && made.rounds > 1) said.push(`It was handed in ${made.rounds} times.`);
  if (Number(made.cost_usd) > 0) said.push(`Making it cost ${usd(made.cost_usd)}.`);
  const reviewed = proposal.review.reviewed_by;
  if (reviewed?.note) said.push(reviewed.note);
  return said.join(" ");
}

// One line for each thing worth a look; it leads to its field.
export function flagLines(proposal, go) {
  const flags = proposal.review.flags || [];
  const all = [
    ...proposal.problems.map((one) => ({ ...one, text: one.detail, level: "problem" })),
    ...flags.filter((one) => one.level === "warning"),
    ...flags.filter((one) => one.level !== "warning"),
  ];
  return all.map((one) => {
    const words = placeWords(proposal.definition, one.pointer);
    const button = el("button", { type: "button", class: "link", "aria-label": `Go to ${words}` }, words);
    button.addEventListener("click", () => go(one.pointer));
    const by = one.by === "model" ? el("span", { class: "soft" }, " (a model says so)") : null;
    return el("li", { class: `flag ${one.level}` }, one.text, one.suggestion ? ` ${one.suggestion}` : "", by, " ", el("span", { class: "where" }, button));
  });
}

// Where nobody can know it, nothing is said but that.
const range = ({ low, usual, high }, basis) => {
  if (basis === "unknown" && Number(usual) === 0) return "not known before it runs";
  return low === high ? usd(usual) : `${usd(usual)} (${usd(low)} to ${usd(high)})`;
};
const runs = ({ low, usual, high }) =>
  low === high ? usual.toLocaleString("en") : `${usual.toLocaleString("en")} (${low.toLocaleString("en")} to ${high.toLocaleString("en")})`;

// How much of what it may cost it will cost, as a bar.
function meter(words, usual, cap) {
  const most = Number(cap);
  if (!(most > 0) || !(Number(usual) > 0)) return null;
  return el("meter", { min: "0", max: String(most), value: String(Math.min(Number(usual), most)), "aria-label": words });
}

// A schedule bounds a month by its runs; what somebody starts by hand is not among them.
const onSchedule = (often, caps) =>
  often.basis === "schedule" && Number(caps.usd_per_month) < 30 * Number(caps.usd_per_day)
    ? " on its schedule; runs by hand come on top" : "";

export function price(forecast) {
  if (!forecast?.usd_per_run) return [el("p", { class: "soft" }, "No price is known yet.")];
  const { usd_per_run: one, usd_per_month: month, runs_per_month: often, caps } = forecast;
  return [
    el("p", { class: "said-large" }, forecast.sentence),
    el("dl", {},
      el("dt", {}, "Runs in a month"), el("dd", {}, runs(often), el("span", { class: "hint line" }, often.why)),
      el("dt", {}, "One run"), el("dd", {}, range(one, one.basis), meter("One run, of what it may cost", one.usual, caps.usd_per_run),
        el("span", { class: "hint line" }, `at most ${usd(caps.usd_per_run)}. ${one.why}`)),
      el("dt", {}, "A month"), el("dd", {}, range(month, one.basis), meter("A month, of what it may cost", month.usual, caps.usd_per_month),
        el("span", { class: "hint line" }, `at most ${usd(caps.usd_per_day)} a day, ${usd(caps.usd_per_month)} a month${onSchedule(often, caps)}.`)),
    ),
    forecast.steps.length ? el("details", {}, el("summary", {}, "Step by step"), el("ul", {}, ...forecast.steps.map((step) =>
      el("li", {}, el("code", {}, step.step_id), ` ${usd(step.usual)}, up to ${usd(step.high)}. `, el("span", { class: "soft" }, step.why))))) : null,
    forecast.notes.length ? el("ul", { class: "soft" }, ...items(forecast.notes)) : null,
  ].filter(Boolean);
}

function part(title, lines, none) {
  if (!lines.length && !none) return [];
  return [el("h3", {}, title), lines.length ? el("ul", { class: "grants" }, ...lines) : el("p", { class: "soft" }, none)];
}

function grantLine(grant) {
  const bounds = Object.entries(grant.params).map(([name, bound]) => boundWords(name, bound));
  const far = grant.waits_for_person ? "waits in the inbox for a yes" : EFFECTS[grant.effect];
  return el("li", { class: grant.effect === "send" ? "sends" : null },
    el("strong", {}, grant.label), bounds.length ? ` ${bounds.join("; ")}` : "",
    el("span", { class: "soft line" }, `${far} · `, el("code", {}, grant.capability)));
}

export function reach(impact) {
  if (!impact?.grants) return [el("p", { class: "soft" }, "Not known yet.")];
  const order = { send: 0, keep: 1, read: 2 };
  const grants = [...impact.grants].sort((one, other) => order[one.effect] - order[other.effect]);
  const outside = impact.outside.map((one) => el("li", { class: one.effect === "send" ? "sends" : null },
    el("strong", {}, one.system), one.hosts.length ? ` at ${listed(one.hosts)}` : "",
    el("span", { class: "soft line" }, `${one.effect === "send" ? "is sent to" : "is asked"}${one.why.length ? ` by ${listed(one.why)}` : ""}`)));
  return [
    ...part("What wakes it", impact.wakes.map((one) => el("li", {}, one.when, one.enabled ? "" : " Switched off.", el("span", { class: "soft line" }, `by ${one.by}`)))),
    ...part("Outside systems", outside, "None: nothing leaves the house."),
    ...part("It may", grants.map(grantLine), "Nothing beyond its own steps."),
    ...part("It keeps", impact.keeps.map((one) => el("li", {}, el("strong", {}, capital(plain(one.kind))), ` ${one.what}`))),
    ...part("Secrets it uses", impact.secrets.map((one) => el("li", {}, el("code", {}, one.name), one.hosts.length ? ` goes to ${listed(one.hosts)}` : "",
      one.capabilities.length ? el("span", { class: "soft line" }, `with ${listed(one.capabilities)}`) : null))),
    ...part("Waits for a person", impact.people.map((one) => el("li", {}, one.label, el("span", { class: "soft" }, one.why.length ? ` in ${listed(one.why)}` : "")))),
  ];
}

const HOW = {
  strict: "writes the same list of the same board, and one moment can wake both",
  board: "writes to the same board",
  alike: "sounds like it does something alike",
};
// By what it was compared with the others.
const BY = { words: "by their words", meaning: "by their meaning" };

function how(one, overlaps) {
  const by = one.how === "alike" ? BY[overlaps.similarity_by] : null;
  return `${HOW[one.how] || one.how}${by ? `, ${by}` : ""}`;
}

export const overlapLines = (overlaps) =>
  (overlaps?.matches || []).map((one) => el("li", {},
    el("span", {}, link(`/automations/${one.automation_id}`, one.name), ` ${how(one, overlaps)}. `), badge(one.state)));

export const isStrict = (overlaps) => (overlaps?.matches || []).some((one) => one.how === "strict");

function widenedLine(grant, impact) {
  const known = (impact?.grants || []).find((one) => one.capability === grant.capability);
  const bounds = Object.entries(grant.params).map(([name, bound]) => boundWords(name, bound)).join("; ");
  return el("li", {}, known ? `${known.label} ` : "", el("code", {}, grant.capability), bounds ? ` ${bounds}` : "");
}

// What a change changes: in words, what widens, and then every difference.
export function changeParts({ change, impact }) {
  const shown = change.changes.slice(0, MOST_CHANGES).map(changeLine);
  const more = change.changes.length - shown.length;
  return [
    el("ul", {}, ...items(change.in_words.length ? change.in_words : ["Nothing is different."])),
    change.widened.length
      ? el("div", { class: "widened" }, el("strong", {}, "It may then, and may not now"), el("ul", {}, ...change.widened.map((one) => widenedLine(one, impact))))
      : el("p", { class: "soft" }, "It may call nothing that it may not call now."),
    shown.length ? el("details", {}, el("summary", {}, `Every difference (${change.changes.length})`), el("ul", { class: "changes" }, ...shown),
      more > 0 ? el("p", { class: "soft" }, `and ${more} more`) : "") : null,
  ].filter(Boolean);
}
