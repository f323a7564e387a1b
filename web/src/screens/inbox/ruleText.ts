// What an auto-approval rule fixes: the recipients and the constant arguments.

import { escapeInvisible, humanize } from "../../kit/format";
import { t } from "../../strings";

// Arguments that name recipients or destinations, in display order.
const RECEIVERS = [
  "to",
  "cc",
  "bcc",
  "chat_id",
  "channel",
  "channel_id",
  "thread_ts",
  "attendees",
  "calendar_id",
  "folder",
  "owner",
  "repo",
  "repository",
  "number",
  "team",
  "team_id",
  "board_id",
  "item_id",
];
const SIMPLE = new Set(["to", "channel", "channel_id", "chat_id", "repo", "repository"]);

const isEmpty = (value: unknown) =>
  value === null || value === undefined || value === "" ||
  (Array.isArray(value) && !value.length);

function formatValue(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) {
    return value.map(String).join(", ");
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function describePattern(
  pattern: Record<string, unknown>,
): { goes: string; always: string[] } {
  const names = Object.keys(pattern).filter((name) => !isEmpty(pattern[name]));
  const one = (name: string) =>
    (SIMPLE.has(name) ? "" : `${humanize(name)} `) + escapeInvisible(formatValue(pattern[name]));
  const towards = RECEIVERS.filter((name) => names.includes(name));
  const fixed = names.filter((name) => !RECEIVERS.includes(name));
  return {
    goes: towards.map(one).join("; ") || t.inbox.whereverTheActionSendsIt,
    always: fixed.map((name) =>
      `${humanize(name)}: ${escapeInvisible(formatValue(pattern[name]))}`
    ),
  };
}
