// A proposal: what was made of somebody's words, to be answered, changed and saved by a person.
// Whatever is written here goes to the server together, and stays written when it is refused.

import { Editor } from "./editor.js";
import { arrive, ask, byId, isAtLeast, onPress, say, sentence } from "./page.js";
import { el, link, tell } from "./parts.js";
import { isObject, partsOf } from "./pointers.js";
import { Questions } from "./questions.js";
import { rehearseInto } from "./rehearsal.js";
import { count, fillHead, fillReview, part } from "./showing.js";

const ID = location.pathname.split("/")[2];
const ENOUGH_OF_A_REASON = 10;
let who, proposal, editor, leaving;
let mustAgree = false;
const questions = new Questions(byId("questions"), goTo);

function goTo(pointer) {
  byId("whole").open = true;
  if (!byId("json-part").hidden) showForm();
  editor.go(pointer);
}

// Shows what the server has; what was not sent yet can be written into it again.
function show(fresh, kept = {}) {
  proposal = fresh;
  const saved = proposal.status === "saved";
  mustAgree = (proposal.review.change?.widened || []).length > 0;
  byId("agreed").checked = false;
  fillHead(proposal);
  fillReview(proposal, goTo);
  questions.show(proposal, kept.answers);
  editor.show(proposal, kept.edits);
  if (!byId("json-part").hidden) showJson();
  // Pages hide what a role may not do: whoever may look reads the same, and writes nothing.
  const may = !saved && isAtLeast(who, "editor");
  for (const name of ["words", "editor"]) part(name, may);
  byId("bar").hidden = !may;
  byId("questions-part").inert = !may;
  part("agree", mustAgree);
  part("rehearsal", may && Boolean(proposal.rehearsal));
  byId("rehearsal").replaceChildren();
  dressBar();
  byId("proposal").hidden = false;
}

// What stands between the person and saving, in one line.
function standing() {
  const open = proposal.questions.length;
  const changed = editor.edits.length;
  if (editor.wrong.size || !byId("json-problem").hidden) return "Something is not JSON yet.";
  if (changed) return `${count(changed, "change")} of yours ${changed === 1 ? "is" : "are"} not reviewed yet.`;
  if (open) return `Answer ${count(open, "question")} first.`;
  if (proposal.problems.length) return `It is not right yet: ${proposal.problems[0].detail}`;
  if (!byId("note-part").hidden && byId("coexistence").value.trim().length < ENOUGH_OF_A_REASON) {
    return "Say why it may live beside the others.";
  }
  if (mustAgree && !byId("agreed").checked) return "It may do more than before.";
  return "";
}

function dressBar() {
  const stands = standing();
  const changed = editor.edits.length > 0;
  byId("keep").hidden = !changed;
  byId("save").disabled = Boolean(stands) || proposal.status !== "ready";
  byId("bar-words").textContent = stands || (proposal.automation_id
    ? "Saved, it becomes the newest version of the automation, and the one in force."
    : "Saved, it is paused: nothing starts it before somebody activates it.");
  leaving = changed;
}

// While the server works nothing can be written that would be lost.
async function busy(words, work) {
  const held = document.activeElement;
  byId("proposal").inert = true;
  byId("notice").hidden = true;
  byId("anew").hidden = true;
  byId("bar-words").textContent = words;
  tell(words);
  try {
    return await work();
  } finally {
    byId("proposal").inert = false;
    byId("told").hidden = true;
    if (held?.isConnected && document.activeElement === document.body) held.focus({ preventScroll: true });
  }
}

async function refine(extra, words) {
  const sent = editor.edits;
  const answers = questions.answers;
  const asked = { revision: proposal.revision, ...editor.request, ...extra };
  if (Object.keys(answers).length) asked.answers = answers;
  questions.hush();
  editor.hush("refused");
  try {
    const fresh = await busy(words, () => ask("POST", `/proposals/${ID}/refine`, asked));
    show(fresh);
    return true;
  } catch (problem) {
    dressBar();
    refuse(problem, sent);
    return false;
  }
}

// Each thing that is wrong is told at its field; what has none is told at the top.
function refuse(problem, sent) {
  const told = problem.told || {};
  if (["proposal_changed", "proposal_saved"].includes(told.code)) {
    byId("anew").hidden = false;
    byId("anew").scrollIntoView({ block: "center" });
    return;
  }
  let first = null;
  const asForm = byId("json-part").hidden;
  const rest = (told.errors || []).filter((one) => {
    const [room, name] = partsOf(one.pointer);
    const words = [one.detail, one.suggestion].filter(Boolean).join(" ");
    if (room === "answers" && questions.say(name, words)) {
      first ??= () => questions.go(name);
      return false;
    }
    const at = room === "edits" ? sent[Number(name)]?.pointer ?? "" : one.pointer.replace(/^\/definition(?=\/)/, "");
    if (!asForm || ["answers", "instruction"].includes(room) || !editor.say(at, words, "refused")) return true;
    first ??= () => goTo(at);
    return false;
  });
  const plainly = told.errors ? [told.detail, told.suggestion].filter(Boolean).join(" ") : sentence(problem);
  byId("notice").replaceChildren(plainly, ...rest.filter((one) => one.detail !== told.detail).map((one) =>
    el("span", { class: "line" }, el("code", {}, one.pointer || "/"), " ", one.detail, one.suggestion ? ` ${one.suggestion}` : "")));
  if (told.code === "version_changed") byId("notice").append(" ", link(`/automations/${proposal.automation_id}`, "Look at it as it is now."));
  byId("notice").hidden = false;
  if (first) first();
  else byId("notice").scrollIntoView({ block: "center" });
}

function showJson() {
  byId("whole").open = true;
  byId("json").value = JSON.stringify(editor.draft, null, 2);
  byId("json-problem").hidden = true;
  byId("json-part").hidden = false;
  byId("editor").hidden = true;
  byId("as-json").setAttribute("aria-pressed", "true");
  byId("as-json").textContent = "Edit as a form";
}

function showForm() {
  if (!byId("json-problem").hidden) return byId("json").focus();
  byId("json-part").hidden = true;
  byId("editor").hidden = false;
  byId("as-json").setAttribute("aria-pressed", "false");
  byId("as-json").textContent = "Edit as JSON";
  editor.draw();
  return null;
}

function readJson() {
  let read = null;
  try {
    read = JSON.parse(byId("json").value);
  } catch {
    read = null;
  }
  byId("json-problem").textContent = "This is not a JSON object yet.";
  byId("json-problem").hidden = isObject(read);
  if (isObject(read)) editor.draft = read;
  dressBar();
}

async function save() {
  editor.hush("refused");
  const asked = { digest: proposal.digest };
  const note = byId("coexistence").value.trim();
  if (!byId("note-part").hidden && note) asked.coexistence_note = note;
  try {
    const saved = await busy("Saving …", () => ask("POST", `/proposals/${ID}/save`, asked));
    leaving = false;
    location.assign(`/automations/${saved.automation_id}`);
  } catch (problem) {
    if (problem.told?.code === "overlap") {
      part("overlaps", true);
      part("note", true);
    }
    dressBar();
    refuse(problem, []);
  }
}

async function rehearse() {
  const { automation_id: id, ...rest } = proposal.rehearsal.arguments;
  await rehearseInto(byId("rehearsal"), id, rest);
}

async function loadAnew() {
  const kept = { edits: editor.edits, answers: questions.answers };
  show(await ask("GET", `/proposals/${ID}`), kept);
  byId("anew").hidden = true;
  byId("name").focus();
}

const REVIEWING = "Judging and reviewing it anew …";

function listen() {
  byId("answers-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!(await refine({}, REVIEWING))) return;
    tell(proposal.questions.length ? "Thank you. There is more to ask." : "Thank you. Nothing is open any more.");
    (proposal.questions.length ? byId("questions-title") : byId("name")).focus();
  });
  byId("words-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const instruction = byId("instruction").value.trim();
    if (!instruction || !(await refine({ instruction }, "Writing it anew …"))) return;
    byId("instruction").value = "";
    tell("It was changed. Look at it again.");
    byId("name").focus();
  });
  const keep = async () => {
    if (!editor.edits.length || editor.wrong.size || !byId("json-problem").hidden) return;
    if (!(await refine({}, REVIEWING))) return;
    tell("Your changes are in it.");
    (byId("save").disabled ? byId("name") : byId("save")).focus({ preventScroll: true });
  };
  byId("editor-form").addEventListener("submit", (event) => {
    event.preventDefault();
    keep();
  });
  byId("keep").addEventListener("click", keep);
  byId("save").addEventListener("click", save);
  byId("agreed").addEventListener("change", dressBar);
  byId("coexistence").addEventListener("input", dressBar);
  byId("json").addEventListener("input", readJson);
  byId("as-json").addEventListener("click", () => (byId("json-part").hidden ? showJson() : showForm()));
  onPress(byId("rehearse"), rehearse);
  onPress(byId("load-anew"), loadAnew);
  onPress(byId("discard"), async () => {
    if (!confirm("Throw this proposal away? Nothing of it was saved.")) return;
    await ask("DELETE", `/proposals/${ID}`);
    leaving = false;
    location.assign("/new");
  });
  addEventListener("beforeunload", (event) => {
    if (leaving) event.preventDefault();
  });
}

await arrive(async (person) => {
  who = person;
  try {
    const [fresh, definition, vocabulary, templates] = await Promise.all([
      ask("GET", `/proposals/${ID}`), ask("GET", "/schemas/definition"),
      ask("GET", "/vocabulary"), ask("GET", "/schemas/templates"),
    ]);
    editor = new Editor(byId("editor"), { definition, vocabulary, templates }, dressBar);
    const zones = Intl.supportedValuesOf?.("timeZone") || [];
    byId("zones").replaceChildren(...zones.map((one) => el("option", { value: one })));
    show(fresh);
  } catch (problem) {
    byId("elsewhere").hidden = ![404, 410].includes(problem.status);
    say(problem);
    return;
  }
  listen();
});
