// A draft as it will be delivered: an e-mail as an e-mail, an event as an event. Whatever is sent
// beside that is shown by its fields, so that nothing leaves which nobody has seen.

import { el, json } from "./parts.js";
import { capital, moment, plain, visible } from "./words.js";

// The fields that an action is asked with, wherever in the arguments they stand.
export const fieldsOf = (draft) => (draft.within && draft.arguments[draft.within]) || draft.arguments;

const isList = (given) => Array.isArray(given) && given.every((one) => typeof one === "string");

export function value(given) {
  if (typeof given === "string") {
    return given.includes("\n") ? el("pre", { class: "data" }, visible(given)) : visible(given);
  }
  if (!isList(given)) return json(given);
  return el("span", {}, ...given.flatMap((one, place) => [place ? ", " : "", el("bdi", {}, visible(one))]));
}

export function listed(given) {
  return el("dl", {}, ...Object.entries(given).flatMap(([name, one]) => [
    el("dt", {}, capital(plain(name))), el("dd", {}, value(one)),
  ]));
}

const body = (text) => el("pre", { class: "data body" }, visible(String(text)));
const head = (text) => el("p", {}, el("strong", {}, visible(String(text))));

// A moment where whoever looks is, and as it is sent.
function when(given) {
  const sent = typeof given === "string" ? given : (given && (given.dateTime || given.date)) || "";
  return /T/.test(sent) && !Number.isNaN(Date.parse(sent)) ? `${moment(sent)} (${sent})` : sent;
}

function files(given) {
  return el("ul", { class: "files" }, ...given.map((one) =>
    el("li", {}, `${visible(String(one.filename))}, ${visible(String(one.mime_type))}, ${one.bytes} bytes`)));
}

// Of each family: which fields it takes up, and what it makes of them.
const FAMILIES = {
  email: {
    lines: ["from", "to", "cc", "bcc", "reply_to"], title: ["subject"], text: ["body", "text"],
  },
  event: {
    lines: ["start", "end", "location", "attendees"], title: ["summary"], text: ["description"],
  },
  file: { lines: ["folder", "mime_type"], title: ["name"], text: ["content"] },
  message: { lines: ["channel", "channel_id", "thread_ts"], title: [], text: ["text", "content", "body"] },
  issue: { lines: ["owner", "repo", "number", "team", "labels", "assignees"], title: ["title"], text: ["body", "description"] },
};

// What will arrive, as it will look there.
export function delivered(draft) {
  const fields = fieldsOf(draft);
  const family = FAMILIES[draft.family];
  const outer = Object.entries(draft.arguments).filter(([name]) => name !== draft.within);
  const beside = draft.within ? Object.fromEntries(outer) : {};
  if (!family) return el("div", {}, listed(fields), attached(draft), more(beside));
  const has = (name) => fields[name] !== undefined && fields[name] !== null && fields[name] !== "";
  const lines = family.lines.filter(has);
  const shown = new Set([...family.lines, ...family.title, ...family.text, "attachments"]);
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !shown.has(name)));
  const titles = family.title.filter(has).map((name) => head(fields[name]));
  const facts = !lines.length ? null : el("dl", {}, ...lines.flatMap((name) => [
    el("dt", {}, capital(plain(name))),
    el("dd", {}, name === "start" || name === "end" ? visible(when(fields[name])) : value(fields[name])),
  ]));
  // A letter says first to whom it goes; everything else what it is called.
  const top = draft.family === "email" ? [facts, ...titles] : [...titles, facts];
  return el("div", { class: `delivered ${draft.family}` }, ...top,
    ...family.text.filter(has).map((name) => body(fields[name])),
    attached(draft), more({ ...rest, ...beside }));
}

function attached(draft) {
  const given = fieldsOf(draft).attachments || draft.arguments.attachments;
  return Array.isArray(given) && given.length ? files(given) : null;
}

function more(rest) {
  const left = Object.fromEntries(Object.entries(rest).filter(([name]) => name !== "attachments"));
  if (!Object.keys(left).length) return null;
  return el("details", {}, el("summary", {}, "What else goes with it"), listed(left));
}
