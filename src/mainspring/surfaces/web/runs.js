// The latest runs of an automation, and one of them as it happens.

import { agentPiece } from "./agent.js";
import { ask, byId, isAtLeast, onPress, say } from "./page.js";
import { badge, el, json, tell } from "./parts.js";
import { away, isOver, MODES, moment, outcomeWords, plain, span, usd, visible } from "./words.js";

const SHOWN = 10;
const LOOK_AGAIN = 5000;
// A page that holds more text than this becomes slow; all of it is at another address.
const MOST_TEXT = 200000;

let automation, who;
let stream = null;
let watched = null;
let kept = 0;
// What agents have said of lines that are not whole yet, by the try at a step.
let begun = new Map();

function lasted(run) {
  if (!run.started_at) return "";
  const end = run.finished_at ? new Date(run.finished_at) : new Date();
  return span((end - new Date(run.started_at)) / 1000);
}

function row(run) {
  const open = el("button", { type: "button", class: "plain", "aria-label": `Look at the run of ${moment(run.created_at)}` }, "Look");
  open.addEventListener("click", () => watch(run.id, true));
  const what = [plain(run.trigger_type), MODES[run.mode], `version ${run.version}`];
  return el(
    "li",
    { class: run.id === watched ? "chosen" : null },
    el("div", {}, badge(run.status), el("span", { class: "soft" }, run.outcome ? ` ${outcomeWords(run.outcome)}` : "")),
    el("div", { class: "soft" },
      el("time", { datetime: run.created_at, title: moment(run.created_at) }, away(run.created_at)),
      el("span", { class: "line" }, what.filter(Boolean).join(" · "))),
    el("div", { class: "soft" }, [lasted(run), usd(run.cost_usd)].filter(Boolean).join(" · ")),
    el("div", { class: "deed" }, open),
  );
}

export async function fillRuns() {
  const { items } = await ask("GET", `/runs?automation_id=${automation.id}&limit=${SHOWN}`);
  // Whoever moves through the list by keyboard stays where they are.
  const place = [...byId("runs").querySelectorAll("button")].indexOf(document.activeElement);
  byId("runs").replaceChildren(...items.map(row));
  byId("no-runs").hidden = items.length > 0;
  if (place >= 0) byId("runs").querySelectorAll("button")[place]?.focus();
}

// The lines of an agent that a piece has made whole.
function ofAgent(piece) {
  const at = JSON.stringify([piece.step, piece.item, piece.attempt]);
  const lines = ((begun.get(at) ?? "") + piece.text).split("\n");
  begun.set(at, lines.pop());
  return lines.map(agentPiece).filter(Boolean);
}

function said(piece) {
  if (piece.stream === "end") return;
  const spoken = () => [el("span", { class: piece.stream === "err" ? "err" : null }, visible(piece.text))];
  const parts = piece.stream === "agent" ? ofAgent(piece) : spoken();
  if (parts.length) show(parts);
}

function show(parts) {
  const place = byId("output");
  const low = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
  place.append(...parts);
  place.hidden = false;
  byId("silent").hidden = true;
  for (const part of parts) kept += part.textContent.length;
  while (kept > MOST_TEXT && place.childNodes.length > 1) {
    kept -= place.firstChild.textContent.length;
    place.firstChild.remove();
    byId("left-out").hidden = false;
  }
  if (low) place.scrollTop = place.scrollHeight;
}

function became(run) {
  byId("run-state").replaceChildren(badge(run.status));
  byId("cancel").hidden = isOver(run.status) || !isAtLeast(who, "operator");
  byId("drafts").hidden = !run.drafts;
}

// Where to read all that its agents were told, said, called and cost.
function conversations(all) {
  const links = all.map((one) => el("a", { href: `/api/v1/artifacts/${one.artifact_id}/content`, download: true }, `transcript of ${one.step}`));
  byId("transcripts").replaceChildren("All that its agents said and did: ", ...links.flatMap((one, place) => (place ? [", ", one] : [one])), ".");
  byId("transcripts").hidden = links.length === 0;
}

// At its end: what became of it, why, and what a trial would have done.
function ended(run) {
  became(run);
  const story = run.story || {};
  const words = [story.headline, story.trial].filter(Boolean).map((one) => one.replace(/[^.]$/, "$&."));
  byId("run-words").textContent = words.join(" ");
  byId("run-problem").textContent = [story.because, run.error?.suggestion].filter(Boolean).join(" ");
  byId("run-problem").hidden = !story.because;
  conversations(run.transcripts || []);
  byId("silent").hidden = !byId("output").hidden;
  byId("silent").textContent = "It said nothing.";
  const calls = story.suppressed || [];
  byId("pretended").hidden = calls.length === 0;
  byId("pretended-calls").replaceChildren(
    ...calls.map((one) => el("li", {}, el("details", {}, el("summary", {}, el("code", {}, one.capability)), json(one.arguments)))),
  );
  if (run.output !== null && run.output !== undefined) {
    byId("answer").replaceChildren(el("summary", {}, "What it answered"), json(run.output));
    byId("answer").hidden = false;
  }
  fillRuns().catch(say);
}

export function watch(id, move) {
  if (stream) stream.close();
  watched = id;
  kept = 0;
  begun = new Map();
  history.replaceState(null, "", `#run-${id}`);
  byId("watched").hidden = false;
  byId("run-title").textContent = "Run";
  byId("run-title").append(" ", el("code", { class: "soft" }, id));
  byId("run-state").replaceChildren();
  byId("run-words").textContent = "";
  byId("output").replaceChildren();
  byId("silent").textContent = "It has said nothing so far.";
  byId("all-output").href = `/api/v1/runs/${id}/output`;
  for (const part of ["output", "transcripts", "left-out", "run-problem", "pretended", "answer", "cancel", "drafts"]) byId(part).hidden = true;
  byId("silent").hidden = false;
  if (move) byId("run-title").focus();
  stream = new EventSource(`/api/v1/runs/${id}/stream`);
  const mine = stream;
  const heard = (work) => (event) => {
    if (mine === stream) work(JSON.parse(event.data));
  };
  stream.addEventListener("output", heard(said));
  stream.addEventListener("run", heard(became));
  const over = (work) => heard((told) => {
    mine.close();
    work(told);
  });
  stream.addEventListener("end", over(ended));
  stream.addEventListener("problem", over((told) => say({ told })));
  stream.addEventListener("error", () => {
    if (mine === stream && mine.readyState === EventSource.CLOSED) {
      byId("run-words").textContent = "This run cannot be watched: it is not there, or not here any more.";
    }
  });
}

export async function beginRuns(shown, person) {
  [automation, who] = [shown, person];
  onPress(byId("cancel"), async () => {
    await ask("POST", `/runs/${watched}/cancel`);
    tell("The run is being stopped.");
  });
  await fillRuns();
  const wanted = /^#run-([0-9a-f-]{36})$/.exec(location.hash);
  if (wanted) watch(wanted[1], false);
  setInterval(() => {
    // What triggers start meanwhile shows up by itself; a failed look is made up for by the next.
    if (!document.hidden) fillRuns().catch(() => {});
  }, LOOK_AGAIN);
}
