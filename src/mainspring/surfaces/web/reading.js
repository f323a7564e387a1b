// What goes on over a connection by itself: reading from it again and again, and a chat with a bot.

import { ask, onPress } from "./page.js";
import { badge, el, link, tell } from "./parts.js";
import { capital, moment, stateWords, triggerWords } from "./words.js";

// The automation that reads from a connection; null when there is none, or it was put away.
export async function readerOf(one) {
  const id = one.connection && one.connection.automation_id;
  if (!one.polls || !id) return null;
  const found = await ask("GET", `/automations/${id}`).catch(() => null);
  return found && found.state !== "archived" ? found : null;
}

function button(words, look, work) {
  const made = el("button", { type: "button", class: look }, words);
  onPress(made, work);
  return made;
}

const rhythm = (reader) => capital((reader.definition.triggers || []).map(triggerWords).join(", and ") || "never");

// Keep reading, on or off.
export function reading(one, reader, again) {
  if (!one.polls || !one.connection) return null;
  const parts = [];
  if (reader) {
    parts.push(
      el("p", {}, link(`/automations/${reader.id}`, reader.name), " ", badge(reader.state)),
      el("p", { class: "soft" }, reader.state === "active" ? `${rhythm(reader)}. What is new is kept as pages.` : stateWords(reader)),
    );
  } else {
    parts.push(el("p", { class: "soft" }, `Nothing is read from ${one.label} by itself. Kept reading, what is new there comes in as pages, and automations can begin with it. An automation of yours does that; you can pause or change it like any other.`));
  }
  const begin = button(reader ? "Go on reading" : "Keep reading", "", async () => {
    await ask("POST", "/capabilities/watch_integration", { source: one.name });
    await again(`${one.label} is read again and again from now on.`);
  });
  const stop = button("Stop reading", "second", async () => {
    await ask("POST", "/capabilities/unwatch_integration", { source: one.name });
    await again(`${one.label} is not read any more. What came in stays.`);
  });
  const rests = !reader || reader.state !== "active";
  parts.push(el("div", { class: "deeds" }, ...[rests && begin, reader && stop].filter(Boolean)));
  return el("section", {}, el("h2", {}, "Keep reading"), ...parts);
}

// A chat is linked by its owner, who brings a code to the bot.
export function chat(one, reader) {
  if (one.name !== "telegram" || !one.connection) return null;
  const linked = one.connection.settings.chat_id !== undefined;
  const hears = reader && reader.state === "active";
  const place = el("p", { hidden: true, role: "status" });
  const begin = button(linked ? "Link another chat" : "Link your chat", linked ? "second" : "", async () => {
    const { url, expires_at: until } = await ask("POST", "/capabilities/link_telegram", {});
    // Only a web address is ever shown as a link.
    if (!/^https:\/\//.test(url)) throw new Error("no address");
    const open = el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, "Open Telegram and press Start");
    place.replaceChildren(open, ` where you are signed in to it. It works once, until ${moment(until)}.`);
    place.hidden = false;
    tell("The address works once, for ten minutes.");
  });
  if (!hears) begin.setAttribute("disabled", "");
  return el("section", {}, el("h2", {}, "Your chat"),
    el("p", { class: "soft" }, linked
      ? "A chat is linked: the bot nudges you there, and asks you there when something waits."
      : "No chat is linked yet. The bot writes to nobody until you have pressed Start in a chat with it."),
    hears ? null : el("p", { class: "hint" }, "The bot only hears you while it is read: keep reading first."),
    el("div", { class: "deeds" }, begin), place);
}
