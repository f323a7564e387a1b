// Times, triggers, grants and runs, in words.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const moment = (text) =>
  new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

export function span(seconds) {
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return both(whole, MINUTE, "min", 1, "s");
  if (whole < 2 * DAY) return both(whole, HOUR, "h", MINUTE, "min");
  return both(whole, DAY, "days", HOUR, "h");
}

function both(seconds, large, name, small, smallName) {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${name}${rest ? ` ${rest} ${smallName}` : ""}`;
}

// About how far away a moment is: "in 3 hours", "2 days ago".
export function away(text) {
  const seconds = (new Date(text) - Date.now()) / 1000;
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const size = Math.abs(seconds);
  if (size < 45) return seconds < 0 ? "just now" : "in a moment";
  if (size < HOUR) return words.format(Math.round(seconds / MINUTE), "minute");
  if (size < DAY) return words.format(Math.round(seconds / HOUR), "hour");
  return words.format(Math.round(seconds / DAY), "day");
}

export function usd(amount) {
  const value = Number(amount);
  return value ? `$${value.toFixed(6).replace(/0{1,4}$/, "")}` : "$0";
}

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const isNumber = (part) => /^[0-9]+$/.test(part);

function cronWords(cron) {
  const [minute, hour, day, month, weekday] = cron.split(/\s+/);
  if (day !== "*" || month !== "*") return null;
  const every = /^\*\/([0-9]+)$/.exec(minute);
  if (hour === "*" && weekday === "*") {
    if (minute === "*") return "every minute";
    if (every) return `every ${every[1]} minutes`;
    return isNumber(minute) ? `every hour, at minute ${minute}` : null;
  }
  if (!isNumber(minute) || !isNumber(hour)) return null;
  const time = `at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (weekday === "*") return `every day ${time}`;
  if (weekday === "1-5") return `Monday to Friday ${time}`;
  return DAYS[weekday] ? `every ${DAYS[weekday]} ${time}` : null;
}

export function triggerWords(trigger) {
  const config = trigger.config || {};
  switch (trigger.type) {
    case "schedule": {
      const words = cronWords(config.cron);
      return `${words || `on the schedule ${config.cron}`}, in ${config.timezone}`;
    }
    case "webhook":
      return "when its webhook is called";
    case "event":
      return `at an event ${config.event_type}${config.filters ? " that fits its filter" : ""}`;
    case "board_change":
      return "when a board changes";
    case "page_ingested":
      return "when a page is taken in";
    default:
      return trigger.type;
  }
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function stateWords(automation) {
  if (automation.state === "active") {
    const started = (automation.triggers || []).some((one) => one.enabled);
    return started ? "Its triggers start it." : "It has no trigger that is on: only a person starts it, by hand.";
  }
  if (automation.state === "archived") return "It was put away; nothing starts it.";
  if (automation.paused_reason === "failures") {
    return `Paused by itself after ${automation.failures} failures in a row.`;
  }
  if (automation.paused_reason === "consent") {
    return "Paused until a person agrees to what it may do.";
  }
  if (automation.paused_reason) return `Paused: ${automation.paused_reason}.`;
  return "Nothing starts it but a person, by hand.";
}

// The colour of a badge, by the status of a run or the state of an automation.
export const TONES = {
  active: "good", succeeded: "good", confirmed: "good", sent: "good",
  failed: "bad", dead: "bad", timed_out: "bad", error: "bad",
  running: "busy", pending: "busy", waiting: "busy", sending: "busy", warning: "busy", proposed: "busy",
};

export const plain = (word) => word.replaceAll("_", " ");

const OUTCOMES = {
  effects: "changed something",
  drafts_waiting: "left drafts for a person",
  answer_only: "changed nothing",
  nothing_to_do: "found nothing to do",
  blocked: "was refused a call",
  over_budget: "reached a limit that was set for it",
  failed: "did not reach its end",
};
export const outcomeWords = (outcome) => OUTCOMES[outcome] || plain(outcome);

const FINAL = ["succeeded", "failed", "cancelled", "timed_out", "skipped", "dead"];
export const isOver = (status) => FINAL.includes(status);

export const MODES = { dry_run: "dry run", verify: "verify mode" };

// What each bound of a grant allows.
export function boundWords(name, bound) {
  const list = Array.isArray(bound) ? bound.map(String).join(", ") || "none" : null;
  if (name === "hosts") return list === "none" ? "nowhere" : `at ${list ?? bound}`;
  if (name.startsWith("max_")) return `${plain(name.slice(4))} at most ${bound}`;
  if (list !== null) return `${plain(name)}: ${list}`;
  return `${plain(name)} ${typeof bound === "string" ? bound : JSON.stringify(bound)}`;
}

// Every step of a definition, also those that stand inside of another.
export function* everyStep(value) {
  if (Array.isArray(value)) {
    for (const one of value) yield* everyStep(one);
  } else if (value && typeof value === "object") {
    if (value.step_id && value.action) yield value;
    for (const one of Object.values(value)) yield* everyStep(one);
  }
}

// Where a secret goes, as the API tells it.
export function secretWords({ action, part, site }) {
  if (!part) return `is used by its ${plain(action)}, for the signature`;
  const place = action === "http_fetch" ? `the ${part} of a request` : `${plain(part)} of ${action}`;
  if (site) return `goes to ${site}, in ${place}`;
  return action === "http_fetch" ? `goes where a run decides, in ${place}` : `is used in ${place}`;
}

// Characters that turn text around, or are not seen at all, spelled out.
const UNSEEN = /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
export const visible = (text) =>
  text.replace(UNSEEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
