// Tables as text: CSV for spreadsheets, and tab-separated cells of the clipboard.

import { formatCell } from "./cells";
import type { Column, Row } from "./rows";

// A spreadsheet would execute such text as a formula, also after leading blanks and with full-width
// signs. Text that is already escaped is escaped again, so that the escape can be removed.
const FORMULA = /^'*(\s*[=+\-@＝＋－＠]|[\t\r])/;
const IS_NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

function escapeFormula(value: unknown): string {
  const text = formatCell(value);
  const isFormula = typeof value !== "number" && FORMULA.test(text) && !IS_NUMBER.test(text);
  return isFormula ? `'${text}` : text;
}

const unescapeFormula = (text: string) =>
  text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text;

function quoteCell(value: unknown): string {
  const text = escapeFormula(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvLine(values: unknown[]): string {
  return values.map(quoteCell).join(",") + "\r\n";
}

export function csv(columns: Column[], rows: Row[]): string {
  return csvLine(columns.map(({ label }) => label)) +
    rows.map((row) => csvLine(columns.map(({ key }) => row[key]))).join("");
}

export function formatTabbed(columns: Column[], rows: Row[]): string {
  return rows.map((row) => columns.map(({ key }) => tabbedCell(escapeFormula(row[key]))).join("\t"))
    .join(
      "\n",
    );
}

const tabbedCell = (text: string) =>
  /[\t\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** The cells of pasted text, line by line; a quoted cell may contain tabs and line breaks. */
export function parseCells(text: string): string[][] {
  const lines: string[][] = [[]];
  let cell = "";
  let inside = false;
  const end = () => {
    lines[lines.length - 1]!.push(unescapeFormula(cell));
    cell = "";
  };
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (inside) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') cell += text[at++];
      else inside = false;
    } else if (sign === '"' && cell === "") inside = true;
    else if (sign === "\t") end();
    else if (sign === "\n") {
      end();
      lines.push([]);
    } else if (sign !== "\r") cell += sign;
  }
  end();
  if (lines.length > 1 && lines.at(-1)!.length === 1 && lines.at(-1)![0] === "") lines.pop();
  return lines;
}
