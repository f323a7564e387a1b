// Completion for templates: the names in scope and the allowed filters and tests, nothing else.

/** A name that a template can use, and its members. */
export type Name = { name: string; about?: string; sample?: unknown; inside?: () => Name[] };
export type Filter = { name: string; parameters: string[]; description: string };
export type Test = { name: string; description: string };
export type Allowed = { filters: Filter[]; tests: Test[] };
export type Completion = {
  label: string;
  detail?: string;
  kind: "name" | "filter" | "test";
  apply: string;
};
export type Completions = { from: number; offers: Completion[] };

/** The text inserted for a filter: its name and its required arguments. */
export function formatFilter(filter: Filter): string {
  const needed = filter.parameters.filter((one) => !one.includes("="));
  return needed.length
    ? `${filter.name}(${needed.map((one) => `"${one}"`).join(", ")})`
    : filter.name;
}

/** The start of the expression around the caret; null: the caret is in plain text. */
export function expressionAt(before: string, bare: boolean): number | null {
  const open = Math.max(before.lastIndexOf("{{"), before.lastIndexOf("{%"));
  if (open < 0) return bare ? 0 : null;
  const closed = Math.max(before.lastIndexOf("}}"), before.lastIndexOf("%}"));
  return closed > open ? null : open + 2;
}

/**
 * Whether a typed key moves over automatically inserted text: how many of the following characters
 * are replaced and how far the caret moves; null: the key is inserted as usual.
 */
export function findOvertype(
  key: string,
  before: string,
  after: string,
): { cut: number; go: number } | null {
  if (key === " ") {
    return before.endsWith("{{ ") && after.startsWith(" }}") ? { cut: 0, go: 0 } : null;
  }
  const start = before.lastIndexOf("{{");
  if (key !== "}" || start < 0 || before.slice(start).includes("}}")) return null;
  const open = unclosed(before.slice(start));
  const closing = /^[\s}]*/.exec(after)![0].replace(/\s/g, "").length;
  // More open than closed braces: the user types a literal brace.
  if (open < 1 || closing < open) return null;
  const blanks = /^\s*/.exec(after)![0].length;
  return /\s$/.test(before) ? { cut: blanks, go: 1 } : { cut: 0, go: blanks + 1 };
}

/** The number of unclosed braces, without those in quotes. */
const unclosed = (expression: string) => {
  const bare = expression.replace(/"[^"]*"|'[^']*'/g, "");
  return bare.split("{").length - bare.split("}").length;
};

const isInText = (expression: string) => {
  let quote = "";
  for (const one of expression) {
    if (quote) quote = one === quote ? "" : quote;
    else if (one === '"' || one === "'") quote = one;
  }
  return quote !== "";
};

function inside(names: Name[], path: string[]): Name[] {
  let found = names;
  for (const part of path) {
    const next = found.find((one) => one.name === part);
    // All items of a list are assumed to have the shape of the first known one.
    const held = next ?? (/^[0-9]+$/.test(part) ? found[0] : undefined);
    found = held?.inside?.() ?? [];
  }
  return found;
}

const isPlain = (name: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);

/** All completions at this position. */
export function completionsAt(
  before: string,
  names: Name[],
  allowed: Allowed,
  bare: boolean,
): Completions | null {
  const start = expressionAt(before, bare);
  if (start === null) return null;
  const expression = before.slice(start);
  if (isInText(expression)) return null;
  const filter = /\|\s*([A-Za-z_]\w*)?$/.exec(expression);
  if (filter) {
    const offers = allowed.filters.map((one): Completion => ({
      label: one.name,
      detail: one.description,
      kind: "filter",
      apply: formatFilter(one),
    }));
    return { from: before.length - (filter[1]?.length ?? 0), offers };
  }
  const test = /\bis\s+(?:not\s+)?([A-Za-z_]\w*)?$/.exec(expression);
  if (test) {
    const offers = allowed.tests.map((one): Completion => ({
      label: one.name,
      detail: one.description,
      kind: "test",
      apply: one.name,
    }));
    return { from: before.length - (test[1]?.length ?? 0), offers };
  }
  return namesFor(before, expression, names);
}

function namesFor(before: string, expression: string, names: Name[]): Completions | null {
  const written = /((?:[A-Za-z_]\w*|\d+|\.|\[\d+\])*)$/.exec(expression)?.[1] ?? "";
  if (/^\d/.test(written)) return null;
  const parts = written.replaceAll("[", ".").replaceAll("]", "").split(".");
  const last = parts.pop() ?? "";
  const offers = inside(names, parts).filter((one) =>
    isPlain(one.name) || /^[0-9]+$/.test(one.name)
  );
  return {
    from: before.length - last.length,
    offers: offers.map((one) => ({
      label: one.name,
      detail: one.about,
      kind: "name",
      apply: one.name,
    })),
  };
}

/**
 * A path in template syntax: steps.fetch.rows[0].title, with brackets for keys that are no
 * identifiers.
 */
export function formatPath(parts: (string | number)[]): string {
  return parts.reduce<string>((made, part) => {
    if (typeof part === "number" || /^[0-9]+$/.test(part)) return `${made}[${part}]`;
    if (isPlain(part)) return made ? `${made}.${part}` : part;
    return `${made}['${part.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}']`;
  }, "");
}

type Edit = { from: number; insert: string };

/** The insertion of a picked value: bare inside braces, otherwise with its own braces. */
export function insertValue(text: string, caret: number, path: string, bare: boolean): Edit {
  const isInside = expressionAt(text.slice(0, caret), bare && text.trim() !== "") !== null;
  return {
    from: caret,
    insert: isInside || (bare && !text.includes("{{")) ? path : `{{ ${path} }}`,
  };
}

/**
 * The insertion of a filter: after the value at the caret, otherwise after the one in the nearest
 * braces.
 */
export function insertFilter(text: string, caret: number, filter: Filter): Edit {
  const message = ` | ${formatFilter(filter)}`;
  let at = caret;
  while (/[\w.]/.test(text[at] ?? "")) at += 1;
  const open = text.lastIndexOf("{{", at);
  const isInside = open >= 0 && text.lastIndexOf("}}", at - 1) < open;
  const before = text.slice(0, at).trimEnd();
  if (isInside && before.length > open + 2) return { from: before.length, insert: message };
  const close = text.indexOf("}}", isInside ? open : caret);
  const end = close < 0 ? text.lastIndexOf("}}") : close;
  if (end < 0) return { from: caret, insert: `{{ value${message} }}` };
  return { from: text.slice(0, end).trimEnd().length, insert: message };
}
