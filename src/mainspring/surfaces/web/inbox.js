// The inbox: outside writes that wait for a person, with exactly what would be sent; questions of
// plans; what may go by itself; and messages.

import { arrive, ask, byId, isAtLeast, onPress, sentence } from "./page.js";
import { badge, el, link, runAddress, tell } from "./parts.js";
import { away, moment, span, visible } from "./words.js";
import { delivered } from "./delivering.js";
import { editForm } from "./editing.js";
import { questionCard } from "./asking.js";
import { ruleCard } from "./rules.js";

const LOOK_AGAIN = 10000;
const DECIDED = 25;
const MOST_AT_ONCE = 50;
let who;
let next = null;
let shown = "";
const runs = new Map();
const cards = new Map();

// Which run asked for a draft, and of which automation; asked once for each.
async function runOf(id) {
  if (!runs.has(id)) runs.set(id, await ask("GET", `/runs/${id}`).catch(() => null));
  return runs.get(id);
}

function asker(draft) {
  const own = who.user && draft.actor_id === who.user.id;
  const caller = draft.actor_kind === "client" ? (own ? "a program of yours" : "a program of another member") : own ? "you" : "another member";
  const place = el("span", {}, draft.run_id ? "a run" : caller);
  if (draft.run_id) {
    runOf(draft.run_id).then((run) => {
      if (!run) return;
      place.replaceChildren(
        link(`/automations/${run.automation_id}`, run.automation), ", in ",
        link(runAddress(run), "this run"), draft.step ? `, step ${draft.step},` : ",",
      );
    });
  }
  return place;
}

function left(draft) {
  const seconds = (new Date(draft.expires_at) - Date.now()) / 1000;
  return seconds > 0 ? `runs out in ${span(seconds)}` : "has run out";
}

const DEEDS = {
  confirm: "Confirmed. It goes out exactly as it was shown.",
  discard: "Discarded. Nothing was sent.",
  redraft: "Drafted again. It waits for a yes.",
};
const DECISIONS = { confirm: "approved", discard: "declined" };

// What was decided here is on record as well; the decision itself does not wait for that.
function acknowledge(id, verb) {
  if (!DECISIONS[verb]) return;
  ask("POST", `/inbox/${id}/ack`, { decision: DECISIONS[verb] }).catch(() => {});
}

// A button for one deed; all buttons beside it rest meanwhile.
function pressed(words, look, problem, label, work) {
  const button = el("button", { type: "button", class: look, "aria-label": label }, words);
  button.addEventListener("click", async () => {
    const beside = button.parentElement.querySelectorAll("button");
    for (const one of beside) one.disabled = true;
    problem.hidden = true;
    try {
      tell(await work());
      byId("waiting-title").focus();
      await fillDrafts();
    } catch (refusal) {
      problem.textContent = sentence(refusal);
      problem.hidden = false;
    } finally {
      for (const one of beside) one.disabled = false;
    }
  });
  return button;
}

function deed(draft, verb, words, look, problem) {
  return pressed(words, look, problem, `${words}: ${visible(draft.preview)}`, async () => {
    // What is agreed to is what stands here, and nothing else.
    const body = verb === "confirm" ? { hash: draft.hash } : {};
    const answer = await ask("POST", `/drafts/${draft.id}/${verb}`, body);
    acknowledge(draft.id, verb);
    return told(answer, verb);
  });
}

function told(answer, verb) {
  if (answer && answer.status === "approved") {
    return `You have agreed. ${answer.approvals} of ${answer.needed} have; nothing was sent yet.`;
  }
  const failed = answer && answer.error && answer.error.detail;
  if (!failed) return DEEDS[verb];
  return answer.outcome === "unknown"
    ? `It was confirmed, and it is not known whether it has left: ${failed}`
    : `It was confirmed and could not be sent: ${failed}`;
}

function count(results, status) {
  return results.filter((one) => one.status === status).length;
}

function batchTold({ results }, verb) {
  const done = count(results, verb === "confirm" ? "confirmed" : "discarded");
  const agreed = count(results, "approved");
  const failed = results.find((one) => one.status === "failed");
  const words = [`${done} of ${results.length} ${verb === "confirm" ? "were sent" : "were discarded"}.`];
  if (agreed) words.push(`${agreed} wait for others to agree.`);
  if (failed) words.push(`The first that was not: ${failed.error.detail}`);
  return words.join(" ");
}

function became(draft) {
  const words = [];
  if (draft.status === "expired") words.push(`Its time was over ${away(draft.expires_at)}.`);
  if (draft.answered_at) words.push(`Answered ${away(draft.answered_at)}.`);
  if (draft.reason) words.push(`Because: ${draft.reason}`);
  if (draft.outcome === "unknown") words.push("It may have left all the same, and is not sent again.");
  return words.join(" ");
}

function draftCard(draft) {
  const waits = draft.status === "pending";
  const may = isAtLeast(who, "operator");
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const parts = [
    el("div", { class: "head" }, el("strong", { class: "preview" }, visible(draft.preview)), waits ? null : badge(draft.status)),
    el("p", { class: "soft" }, "Asked for by ", asker(draft), `${draft.run_id ? "" : ","} ${away(draft.created_at)}. `,
      draft.revision > 1 ? "It was edited since. " : "",
      waits && draft.approvals ? `${draft.approvals} agreed to these words. ` : "",
      waits ? el("span", { class: "left", "data-until": draft.expires_at }, `It ${left(draft)}.`) : ""),
  ];
  const what = el("details", { open: waits }, el("summary", {},
    waits ? "What exactly would be sent, by " : "What it was, by ", el("code", {}, draft.action)),
    delivered(draft), draft.hash ? el("p", { class: "soft" }, "Hash ", el("code", {}, draft.hash.slice(0, 12))) : null);
  parts.push(what);
  if (draft.error && draft.error.detail) parts.push(el("p", { class: "problem" }, draft.error.detail));
  if (!waits) parts.push(el("p", { class: "soft" }, became(draft)));
  if (waits && may) {
    const form = draft.editable.length ? editForm(draft, async () => {
      tell("The draft has other words now. Nothing was sent.");
      await fillDrafts();
    }) : null;
    const answers = [deed(draft, "confirm", "Confirm", "", problem), deed(draft, "discard", "Discard", "second", problem)];
    parts.push(problem, form, el("div", { class: "deeds" },
      answers[0], form && editButton(draft, form, answers), answers[1]));
  } else if (waits) {
    parts.push(el("p", { class: "hint" }, `Your role here (${who.role}) may look; answering takes operator or more.`));
  } else if (may && (draft.status === "expired" || draft.status === "discarded")) {
    parts.push(problem, el("div", { class: "deeds" }, deed(draft, "redraft", "Draft again", "second", problem)));
  }
  return el("li", {}, ...parts);
}

// Whoever is editing answers afterwards: what they confirm is what stands above, never what they
// were about to write.
function editButton(draft, form, answers) {
  const button = el("button", { type: "button", class: "second", "aria-expanded": "false", "aria-label": `Edit: ${visible(draft.preview)}` }, "Edit");
  button.addEventListener("click", () => {
    form.hidden = !form.hidden;
    if (form.hidden) form.reset();
    for (const one of answers) one.hidden = !form.hidden;
    button.textContent = form.hidden ? "Edit" : "Leave it as it is";
    button.setAttribute("aria-expanded", String(!form.hidden));
  });
  return button;
}

// Drafts of one turn stand together and can be answered as a set.
function grouped(drafts) {
  const groups = new Map();
  for (const draft of drafts) {
    const key = draft.batch_id || draft.id;
    groups.set(key, [...(groups.get(key) || []), draft]);
  }
  return [...groups.values()].flatMap((set) => (set.length > 1 ? [batchCard(set)] : set.map(cardOf)));
}

function batchCard(set) {
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const body = { draft_ids: set.map((one) => one.id) };
  const hashes = Object.fromEntries(set.filter((one) => one.hash).map((one) => [one.id, one.hash]));
  const all = (verb, words, look, given) =>
    pressed(words, look, problem, `${words} of this batch`, async () => {
      const answer = await ask("POST", `/drafts/${verb}`, given);
      for (const one of answer.results) if (one.status !== "failed") acknowledge(one.draft_id, verb);
      return batchTold(answer, verb);
    });
  const deeds = isAtLeast(who, "operator") && set.length <= MOST_AT_ONCE
    ? el("div", { class: "deeds" },
      all("confirm", `Confirm all ${set.length}`, "", { ...body, hashes }),
      all("discard", `Discard all ${set.length}`, "second", body))
    : null;
  return el("li", { class: "batch" },
    el("div", { class: "head" }, el("strong", {}, `${set.length} drafts of one turn`)),
    problem, deeds, el("ul", { class: "drafts" }, ...set.map(cardOf)));
}

// The card of one thing stays what it is until the thing is another, with whatever somebody opened
// or is writing in it.
function kept(id, thing, make) {
  const spelt = JSON.stringify(thing);
  const before = cards.get(id);
  if (before && before.spelt === spelt) return before.card;
  const card = make(thing);
  cards.set(id, { spelt, card });
  return card;
}

const cardOf = (draft) => kept(draft.id, draft, draftCard);

async function answered(question, decision) {
  acknowledge(question.approval_id, decision === "approved" ? "confirm" : "discard");
  tell(decision === "approved" ? "Approved. The run goes on with your answer." : "Declined. The run is told so.");
  byId("waiting-title").focus();
  await fillDrafts();
}

async function decided(words) {
  tell(words);
  byId("rules-title").focus();
  await fillDrafts();
}

// Puts cards in their place; whoever wrote in one of them goes on writing.
function fillList(id, made) {
  const focused = document.activeElement;
  byId(id).replaceChildren(...made);
  if (focused?.isConnected && byId(id).contains(focused)) focused.focus({ preventScroll: true });
}

async function fillDrafts() {
  const [waiting, expired, all, { approvals }, { rules }] = await Promise.all([
    ask("GET", "/drafts?status=pending&limit=50"),
    ask("GET", `/drafts?status=expired&limit=${DECIDED}`),
    ask("GET", `/drafts?limit=${DECIDED}`),
    ask("GET", "/approvals?limit=50"),
    ask("GET", "/standing-rules?limit=100"),
  ]);
  const done = all.items.filter((one) => one.status !== "pending" && one.status !== "expired");
  const standing = ["proposed", "active"].flatMap((status) => rules.filter((one) => one.status === status));
  const now = JSON.stringify([waiting.items, expired.items, done, approvals, standing]);
  if (now === shown) return;
  shown = now;
  fillList("questions", approvals.map((one) => kept(one.approval_id, one, (it) => questionCard(who, it, answered))));
  fillList("waiting", grouped(waiting.items));
  fillList("rules", standing.map((one) => kept(one.rule_id, one, (it) => ruleCard(who, it, decided))));
  fillList("expired", expired.items.map(cardOf));
  fillList("decided", done.map(cardOf));
  byId("no-drafts").hidden = waiting.items.length + approvals.length > 0;
  byId("no-rules").hidden = standing.length > 0;
  byId("no-expired").hidden = expired.items.length > 0;
  byId("no-decided").hidden = done.length > 0;
}

function messageLine(message) {
  const words = el("div", {},
    el("strong", {}, message.level === "info" ? null : badge(message.level), " ", message.title),
    el("span", { class: "line message" }, message.message),
    el("span", { class: "line" }, el("time", { datetime: message.created_at, title: moment(message.created_at) }, away(message.created_at))));
  if (message.automation_id) {
    const address = `/automations/${message.automation_id}${message.run_id ? `#run-${message.run_id}` : ""}`;
    words.lastChild.append(" · ", link(address, message.run_id ? "its run" : "its automation"));
  }
  const item = el("li", { class: message.read_at ? "read" : "unread" }, words);
  if (!message.read_at && isAtLeast(who, "operator")) {
    const button = el("button", { type: "button", class: "plain", "aria-label": `Mark as read: ${message.title}` }, "Mark as read");
    onPress(button, async () => item.replaceWith(messageLine(await ask("POST", `/inbox/${message.id}/read`))));
    item.append(button);
  }
  return item;
}

async function fillMessages() {
  const from = next ? `&cursor=${encodeURIComponent(next)}` : "";
  const page = await ask("GET", `/inbox?limit=20${from}`);
  byId("messages").append(...page.items.map(messageLine));
  const there = byId("messages").childElementCount > 0;
  byId("no-messages").hidden = there;
  byId("read-all").hidden = !there || !isAtLeast(who, "operator");
  next = page.next;
  byId("more").hidden = !next;
}

function listen() {
  onPress(byId("more"), fillMessages);
  onPress(byId("read-all"), async () => {
    await ask("POST", "/inbox/read-all");
    next = null;
    byId("messages").replaceChildren();
    await fillMessages();
    tell("All messages are read.");
  });
  setInterval(() => {
    for (const place of document.querySelectorAll(".left")) {
      place.textContent = `It ${left({ expires_at: place.dataset.until })}.`;
    }
  }, 1000);
  setInterval(() => {
    if (!document.hidden) fillDrafts().catch(() => {});
  }, LOOK_AGAIN);
}

await arrive(async (person) => {
  who = person;
  listen();
  await Promise.all([fillDrafts(), fillMessages()]);
});
