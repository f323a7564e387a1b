// Cells: formatting a value, and parsing text into a value of the column type.

import type { Column } from "./rows";
import { t } from "../../strings";

/** A value as cell text. */
export function formatCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) {
    return value.join(", ");
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export type ParsedCell = { value: unknown } | { problem: string };

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const DATE = /^\d{4}-\d{2}-\d{2}([T ].+)?$/;

/** The value of a text in a column; empty text is no value. */
export function parseCell(column: Column, text: string, before?: unknown): ParsedCell {
  const trimmed = text.trim();
  if (!trimmed) return { value: null };
  switch (column.type) {
    case "number":
      return numberOf(trimmed);
    case "date":
      return DATE.test(trimmed) && isDay(trimmed)
        ? { value: trimmed }
        : { problem: t.boards.enterADateSuchAs };
    case "select":
      return optionOf(column, trimmed);
    case "tags":
      return {
        value: [...new Set(trimmed.split(",").map((tag) => tag.trim()).filter(Boolean))],
      };
    default:
      return column.free ? freeOf(text, before) : { value: text };
  }
}

function numberOf(text: string): ParsedCell {
  const plain = text.replace(/[\s_']/g, "");
  const value = Number(plain);
  return NUMBER.test(plain) && Number.isFinite(value)
    ? { value }
    : { problem: t.boards.enterANumberSuchAs };
}

function isDay(text: string): boolean {
  const day = text.slice(0, 10);
  const read = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(read.getTime()) && read.toISOString().startsWith(day);
}

function optionOf(column: Column, text: string): ParsedCell {
  const options = column.options ?? [];
  const found = options.find((one) => one === text) ??
    options.find((one) => one.toLowerCase() === text.toLowerCase());
  return found === undefined
    ? { problem: t.boards.mustBeOneOf(options.slice(0, 8).join(", ")) }
    : { value: found };
}

/** A key without a column keeps its value type. */
function freeOf(text: string, before: unknown): ParsedCell {
  if (typeof before === "number") {
    const read = numberOf(text.trim());
    return "value" in read ? read : { value: text };
  }
  if (typeof before === "boolean" && /^(true|false)$/.test(text.trim())) {
    return { value: text.trim() === "true" };
  }
  if (before !== null && typeof before === "object") {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return { problem: t.boards.thisValueMustBeValid };
    }
  }
  return { value: text };
}
