// Standing rules: what people agreed to so often that it may leave without being asked about.

import { ask, isAtLeast, sentence } from "./page.js";
import { badge, el, link } from "./parts.js";
import { away, plain, visible } from "./words.js";

// Arguments that say to whom or where something goes, in the order in which they are said.
const RECEIVERS = [
  "to", "cc", "bcc", "chat_id", "channel", "channel_id", "thread_ts", "attendees", "calendar_id",
  "folder", "owner", "repo", "repository", "number", "team", "team_id", "board_id", "item_id",
];
const SIMPLE = new Set(["to", "channel", "channel_id", "chat_id", "repo", "repository"]);

const isEmpty = (value) =>
  value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length);

function spelt(value) {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.map(String).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// What a rule holds fast, as pairs of words: to whom it goes, and what is always the same.
export function patternWords(pattern) {
  const names = Object.keys(pattern).filter((name) => !isEmpty(pattern[name]));
  const one = (name) => (SIMPLE.has(name) ? "" : `${plain(name)} `) + visible(spelt(pattern[name]));
  const towards = RECEIVERS.filter((name) => names.includes(name));
  const fixed = names.filter((name) => !RECEIVERS.includes(name));
  return {
    goes: towards.map(one).join("; ") || "where the action itself decides",
    always: fixed.map((name) => `${plain(name)}: ${visible(spelt(pattern[name]))}`),
  };
}

function facts(rule) {
  const { goes, always } = patternWords(rule.pattern);
  const pairs = [["Only to", goes]];
  for (const [place, words] of always.entries()) pairs.push([place ? "" : "Always with", words]);
  pairs.push(["May differ", "the wording, and nothing else"]);
  if (rule.status === "active") pairs.push(["Let go so far", String(rule.uses)]);
  return el("dl", {}, ...pairs.flatMap(([name, words]) => [el("dt", {}, name), el("dd", {}, words)]));
}

function story(rule) {
  const earned = `${rule.seen} drafts of this shape were confirmed one after another, and none was changed.`;
  return rule.status === "proposed" ? earned
    : `Somebody let these go ${away(rule.decided_at)}. An edit or a discard of one like it ends this, and so does another version.`;
}

const TOLD = {
  accept: "Such drafts leave by themselves from now on.",
  decline: "Each one keeps waiting for a yes.",
  withdraw: "Withdrawn. Every draft waits for a person again.",
};

// One rule; what is done when it was decided is told by whoever shows it.
export function ruleCard(who, rule, done) {
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const deeds = el("div", { class: "deeds" });
  const deed = (verb, words, look, work) => {
    const button = el("button", { type: "button", class: look, "aria-label": `${words}: ${rule.capability} of ${rule.automation}` }, words);
    button.addEventListener("click", async () => {
      for (const one of deeds.querySelectorAll("button")) one.disabled = true;
      problem.hidden = true;
      try {
        await work();
        await done(TOLD[verb]);
      } catch (refusal) {
        problem.textContent = sentence(refusal);
        problem.hidden = false;
        for (const one of deeds.querySelectorAll("button")) one.disabled = false;
      }
    });
    deeds.append(button);
  };
  const decide = (decision) => ask("POST", `/standing-rules/${rule.rule_id}/decide`, { decision });
  let hint = null;
  if (rule.status === "proposed" && isAtLeast(who, "editor")) {
    deed("accept", "Let these go by themselves", "", () => decide("accept"));
    deed("decline", "Keep asking me", "second", () => decide("decline"));
  } else if (rule.status === "proposed") {
    hint = el("p", { class: "hint" }, `Your role here (${who.role}) may look; letting something go takes editor or more.`);
  } else if (isAtLeast(who, "operator")) {
    deed("withdraw", "Withdraw", "second", () => ask("POST", `/standing-rules/${rule.rule_id}/withdraw`));
  }
  return el("li", {},
    el("div", { class: "head" },
      el("strong", { class: "preview" }, el("code", {}, rule.capability), " of ", link(`/automations/${rule.automation_id}`, rule.automation)),
      badge(rule.status)),
    el("p", { class: "soft" }, story(rule)), facts(rule), hint, problem, deeds);
}
