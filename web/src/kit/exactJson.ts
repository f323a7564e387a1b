// JSON as raw text, and what parsing it would silently lose: duplicate keys and the precision of
// long numbers.

import { t } from "../strings";

export type ParseLoss = { at: number; message: string; token: string };

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]/g;

/** A number that parsing and serializing would change. */
export function isInexact(number: string): boolean {
  const read = Number(number);
  if (!Number.isFinite(read)) return true;
  return /^-?\d{16,}$/.test(number) && JSON.stringify(read) !== number;
}

const tooLong = (token: string) =>
  Number.isFinite(Number(token))
    ? t.kit.hasMoreDigitsThanA(token, Number(token))
    : t.kit.isLargerThanAnyNumber(token);

const isNumber = (token: string) => /^[-\d]/.test(token);

/** The first place in valid JSON that parsing would change. */
export function findParseLoss(text: string): ParseLoss | null {
  const open: (Set<string> | null)[] = [];
  let before = "";
  for (const { 0: token, index: at } of text.matchAll(TOKEN)) {
    const keys = open.at(-1);
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (keys && token[0] === '"' && (before === "{" || before === ",")) {
      const key = JSON.parse(token) as string;
      const message = t.kit.appearsTwiceAndOnlyOne(token);
      if (keys.has(key)) return { at, message, token };
      keys.add(key);
    } else if (isNumber(token) && isInexact(token)) return { at, message: tooLong(token), token };
    before = token;
  }
  return null;
}

/** The distinct numbers in valid JSON that parsing would change. */
export function findInexactNumbers(text: string): string[] {
  const found = new Set<string>();
  for (const [token] of text.matchAll(TOKEN)) {
    if (isNumber(token) && isInexact(token)) found.add(token);
  }
  return [...found];
}

/** The raw text of a top-level key; null: there is none. */
export function rawValue(text: string, key: string): string | null {
  const encodedKey = JSON.stringify(key);
  let [depth, from] = [0, -1];
  let [before, last] = ["", ""];
  for (const { 0: token, index: at } of text.matchAll(TOKEN)) {
    const ends = depth === 1 && (token === "," || token === "}");
    if (from >= 0 && ends) return text.slice(from, at).trim();
    if (depth === 1 && token === ":" && last === encodedKey && /[{,]/.test(before)) from = at + 1;
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    [before, last] = [last, token];
  }
  return null;
}

/** The same JSON, indented; every value keeps its text. */
export function indentJson(text: string): string {
  let [made, depth, last] = ["", 0, ""];
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of text.matchAll(TOKEN)) {
    const closes = token === "}" || token === "]";
    if (closes) depth -= 1;
    if (last === "," || (/^[{[]$/.test(last) ? !closes : closes)) made += line();
    made += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth += 1;
    last = token;
  }
  return made;
}
