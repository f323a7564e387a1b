// The inbox: outside writes that wait for a person, with exactly what would be sent, and messages.

import { arrive, ask, byId, isAtLeast, onPress, sentence } from "./page.js";
import { badge, el, json, link, runAddress, tell } from "./parts.js";
import { away, moment, plain, span, visible } from "./words.js";

const LOOK_AGAIN = 10000;
const DECIDED = 25;
let who;
let next = null;
let shownDrafts = "";
const runs = new Map();

// Which run asked for a draft, and of which automation; asked once for each.
async function runOf(id) {
  if (!runs.has(id)) runs.set(id, await ask("GET", `/runs/${id}`).catch(() => null));
  return runs.get(id);
}

function value(given) {
  if (typeof given === "string") {
    return given.includes("\n") ? el("pre", { class: "data" }, visible(given)) : visible(given);
  }
  const short = Array.isArray(given) && given.every((one) => typeof one === "string");
  if (!short) return json(given);
  return el("span", {}, ...given.flatMap((one, place) => [place ? ", " : "", el("bdi", {}, visible(one))]));
}

function sent(given) {
  const parts = Object.entries(given).flatMap(([name, one]) => [
    el("dt", {}, plain(name)), el("dd", {}, value(one)),
  ]);
  return el("dl", {}, ...parts);
}

function asker(draft) {
  const place = el("span", {}, draft.run_id ? "a run" : "somebody who called it directly");
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
};

function deed(draft, verb, words, look, problem) {
  const button = el("button", { type: "button", class: look, "aria-label": `${words}: ${visible(draft.preview)}` }, words);
  button.addEventListener("click", async () => {
    const pair = button.parentElement.querySelectorAll("button");
    for (const one of pair) one.disabled = true;
    problem.hidden = true;
    try {
      const answer = await ask("POST", `/drafts/${draft.id}/${verb}`);
      tell(told(answer, verb));
      byId("waiting-title").focus();
      await fillDrafts();
    } catch (refusal) {
      problem.textContent = sentence(refusal);
      problem.hidden = false;
    } finally {
      for (const one of pair) one.disabled = false;
    }
  });
  return button;
}

function told(answer, verb) {
  const failed = answer && answer.error && answer.error.detail;
  if (!failed) return DEEDS[verb];
  return answer.outcome === "unknown"
    ? `It was confirmed, and it is not known whether it has left: ${failed}`
    : `It was confirmed and could not be sent: ${failed}`;
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
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const parts = [
    el("div", { class: "head" }, el("strong", { class: "preview" }, visible(draft.preview)), waits ? null : badge(draft.status)),
    el("p", { class: "soft" }, "Asked for by ", asker(draft), ` ${away(draft.created_at)}. `,
      waits ? el("span", { class: "left", "data-until": draft.expires_at }, `It ${left(draft)}.`) : ""),
  ];
  const what = el("details", { open: waits }, el("summary", {},
    waits ? "What exactly would be sent, by " : "What it was, by ", el("code", {}, draft.capability)), sent(draft.arguments));
  parts.push(what);
  if (draft.error && draft.error.detail) parts.push(el("p", { class: "problem" }, draft.error.detail));
  if (!waits) parts.push(el("p", { class: "soft" }, became(draft)));
  if (waits && isAtLeast(who, "operator")) {
    parts.push(problem, el("div", { class: "deeds" },
      deed(draft, "confirm", "Confirm", "", problem),
      deed(draft, "discard", "Discard", "second", problem)));
  } else if (waits) {
    parts.push(el("p", { class: "hint" }, `Your role here (${who.role}) may look; answering takes operator or more.`));
  }
  return el("li", {}, ...parts);
}

async function fillDrafts() {
  const [waiting, all] = await Promise.all([
    ask("GET", "/drafts?status=pending&limit=50"),
    ask("GET", `/drafts?limit=${DECIDED}`),
  ]);
  const decided = all.items.filter((one) => one.status !== "pending");
  const now = JSON.stringify([waiting.items, decided]);
  // What is on the page already stays, with whatever somebody opened or is pressing.
  if (now === shownDrafts) return;
  shownDrafts = now;
  byId("waiting").replaceChildren(...waiting.items.map(draftCard));
  byId("decided").replaceChildren(...decided.map(draftCard));
  byId("no-drafts").hidden = waiting.items.length > 0;
  byId("no-decided").hidden = decided.length > 0;
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
    const button = el("button", { type: "button", class: "plain", "aria-label": `Mark as read: ${message.title}` }, "Read");
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
