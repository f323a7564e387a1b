// The preview of a draft as plain data. Arguments that the preview does not use are listed below
// it, so that nothing is sent unseen.

import { t } from "../strings";

export type Fields = Record<string, unknown>;

/** The fields of a draft that the preview needs. */
export type PreviewDraft = {
  capability: string;
  action: string;
  source: string | null;
  family: string;
  within: string;
  account: string | null;
  arguments: Fields;
};

export type File = { filename: string; mimeType: string; bytes: number | null };
export type Line = { name: string; value: unknown };
export type Kind = "email" | "event" | "message" | "issue" | "file" | "request" | "rows" | "fields";

export type Shape = {
  kind: Kind;
  /** The title: a subject, an issue title, a file name. */
  title: string | null;
  /** The destination and recipients, in reading order. */
  lines: Line[];
  /** The text fields, each with its name. */
  texts: Line[];
  files: File[];
  /** All other arguments. */
  rest: Line[];
};

// Already shown as the action's name, its batch and its account.
const AROUND = new Set(["install_id", "action_name", "batch_id", "attachments"]);

type Plan = { lines: string[]; title: string[]; texts: string[] };

const PLANS: Record<Exclude<Kind, "fields">, Plan> = {
  email: {
    lines: ["from", "to", "cc", "bcc", "reply_to"],
    title: ["subject"],
    texts: ["body", "text", "html"],
  },
  event: {
    lines: ["start", "end", "time_zone", "location", "attendees", "send_updates"],
    title: ["summary"],
    texts: ["description"],
  },
  message: {
    lines: [
      "channel",
      "channel_id",
      "chat_id",
      "thread_ts",
      "owner",
      "repo",
      "number",
      "item_id",
    ],
    title: [],
    texts: ["text", "content", "body", "message"],
  },
  issue: {
    lines: ["owner", "repo", "number", "team", "team_id", "labels", "assignees"],
    title: ["title"],
    texts: ["body", "description"],
  },
  file: { lines: ["folder", "mime_type"], title: ["name"], texts: ["content"] },
  request: {
    lines: ["method", "url", "query", "headers"],
    title: [],
    texts: ["body", "json", "form", "text"],
  },
  rows: {
    lines: ["board_id", "page_id", "key"],
    title: ["title"],
    texts: ["rows", "row", "values"],
  },
};

const isEmpty = (value: unknown) => value === undefined || value === null || value === "";

/** The arguments of the action, wherever they are nested. */
export function fieldsOf(draft: Pick<PreviewDraft, "arguments" | "within">): Fields {
  const inner = draft.within ? draft.arguments[draft.within] : undefined;
  return inner && typeof inner === "object" ? inner as Fields : draft.arguments;
}

export function kindOf(draft: PreviewDraft): Kind {
  if (draft.family && Object.hasOwn(PLANS, draft.family)) return draft.family as Kind;
  const fields = fieldsOf(draft);
  if (typeof fields.url === "string" && /https?:/.test(fields.url)) return "request";
  if (
    typeof fields.board_id === "string" &&
    PLANS.rows.texts.some((name) => Object.hasOwn(fields, name))
  ) {
    return "rows";
  }
  return "fields";
}

export function shapeOf(draft: PreviewDraft): Shape {
  const kind = kindOf(draft);
  const fields = fieldsOf(draft);
  const plan = kind === "fields" ? { lines: [], title: [], texts: [] } : PLANS[kind];
  const found = (names: string[]): Line[] =>
    names.filter((name) => !isEmpty(fields[name])).map((name) => ({
      name,
      value: fields[name],
    }));
  const [title, ...others] = found(plan.title);
  const taken = new Set([...plan.lines, ...plan.title, ...plan.texts, "attachments"]);
  const rest = Object.entries(fields).filter(([name]) => !taken.has(name));
  const outer = fields === draft.arguments
    ? []
    : Object.entries(draft.arguments).filter(([name]) =>
      name !== draft.within && !AROUND.has(name)
    );
  return {
    kind,
    title: title ? String(title.value) : null,
    lines: [...found(plan.lines), ...others],
    texts: found(plan.texts),
    files: [
      ...filesOf(fields.attachments),
      ...(fields === draft.arguments ? [] : filesOf(draft.arguments.attachments)),
    ],
    rest: [...rest, ...outer].filter(([, value]) => !isEmpty(value)).map(([name, value]) => ({
      name,
      value,
    })),
  };
}

function filesOf(given: unknown): File[] {
  if (!Array.isArray(given)) return [];
  return given.map((one: Fields) => ({
    filename: String(one?.filename ?? t.previews.aFile),
    mimeType: String(one?.mime_type ?? "application/octet-stream"),
    bytes: typeof one?.bytes === "number" ? one.bytes : null,
  }));
}

/** Splits lines by name: those requested, and all others. */
export function partitionLines(lines: Line[], names: string[]): [Record<string, unknown>, Line[]] {
  const own = lines.filter(({ name }) => names.includes(name));
  const others = lines.filter(({ name }) => !names.includes(name));
  return [Object.fromEntries(own.map(({ name, value }) => [name, value])), others];
}

/** The time of an event as it is sent: a text, or a calendar object. */
export function eventTime(given: unknown): string {
  if (typeof given === "string") return given;
  const { dateTime, date } = (given ?? {}) as { dateTime?: string; date?: string };
  return dateTime ?? date ?? "";
}

export const listed = (given: unknown): string[] =>
  Array.isArray(given) ? given.map(String) : isEmpty(given) ? [] : [String(given)];

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return t.previews.bytes(bytes);
  if (bytes < 1_000_000) return t.previews.kb((bytes / 1000).toFixed(1));
  return t.previews.mb((bytes / 1_000_000).toFixed(1));
}

type Named = { name: string; label: string };

/** The destination, by integration or by the prefix of the action's name. */
export function destinationOf(
  draft: Pick<PreviewDraft, "source" | "capability" | "action">,
  integrations: Named[],
): string | null {
  for (const name of [draft.source ?? "", draft.capability, draft.action]) {
    const known = integrations.find((one) =>
      name === one.name || name.startsWith(`${one.name}_`) || name.startsWith(`${one.name}.`)
    );
    if (known) return known.label;
  }
  return null;
}
