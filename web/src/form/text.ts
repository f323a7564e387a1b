// JSON as typed, and the position of its first syntax error.

import { findParseLoss } from "../kit/exactJson";
import { t } from "../strings";

export type Read = { value: unknown } | { problem: string; line: number };

export const spellJson = (
  value: unknown,
): string => (value === undefined ? "" : JSON.stringify(value, null, 2));

function offsetOf(message: string, text: string): number {
  const at = /position (\d+)/.exec(message)?.[1];
  if (at !== undefined) return Number(at);
  return /end of|Unterminated/i.test(message) ? text.length : 0;
}

function place(text: string, offset: number) {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, text: t.form.lineColumn(line, before.length - before.lastIndexOf("\n")) };
}

function describeSyntaxError(text: string, message: string): Read {
  const offset = offsetOf(message, text);
  const { line, text: phrase } = place(text, offset);
  const near = text.slice(offset).trimStart().slice(0, 12).split("\n")[0];
  const what = near ? t.form.unexpectedTextBefore(near) : t.form.unexpectedEnd;
  return { problem: t.form.invalidJson(phrase, what), line };
}

/** The value, or the error and its line. JSON that parsing would change is rejected. */
export function parseJson(text: string): Read {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return describeSyntaxError(text, error instanceof Error ? error.message : "");
  }
  const odd = findParseLoss(text);
  if (!odd) return { value };
  const { line, text: message } = place(text, odd.at);
  return { problem: t.form.thisCannotBeStoredExactly(message, odd.message), line };
}
