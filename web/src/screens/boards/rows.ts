// The rows and columns of a dataset, and the view (search, filters, order), which is kept in the
// URL.

import type { Answer } from "../../api/client";
import { t } from "../../strings";

export type BoardShown = Answer<"get_board">;
export type Dataset = BoardShown["schema"]["datasets"][number];
export type FieldType = Dataset["columns"][number]["field_type"];
export type Column = {
  key: string;
  label: string;
  type: FieldType;
  options?: string[];
  /** A key that is in no column; a row may still have it. */
  free?: boolean;
};
export type Row = { row_id: string; _src?: string; _updated_at?: string } & Record<string, unknown>;

export const OPS = {
  contains: t.boards.contains,
  is: t.boards.is,
  is_not: t.boards.isNot,
  above: t.boards.isAbove,
  below: t.boards.isBelow,
  from: t.boards.isFrom,
  until: t.boards.isUntil,
  empty: t.boards.isEmpty,
  filled: t.boards.isNotEmpty,
} as const;
export type Op = keyof typeof OPS;
export type Filter = { field: string; op: Op; value?: string };
export type RowView = { search?: string; sort?: string; descending?: boolean; filters: Filter[] };

export const needsValue = (op: Op) => op !== "empty" && op !== "filled";

/** The filter operators for a type, the most usual first. */
export function opsFor(type: FieldType): Op[] {
  if (type === "number") return ["above", "below", "is", "is_not", "empty", "filled"];
  if (type === "date") return ["from", "until", "is", "empty", "filled"];
  if (type === "select") return ["is", "is_not", "empty", "filled"];
  return ["contains", "is", "is_not", "empty", "filled"];
}

const SERVER_KEYS = new Set(["row_id", "_src", "_updated_at", "_deleted_at"]);
const MOST_FREE = 40;

export function columnsOf(dataset: Dataset | undefined, rows: Row[]): Column[] {
  const known = (dataset?.columns ?? []).map((one) => ({
    key: one.key,
    label: one.label ?? one.key,
    type: one.field_type,
    options: one.options,
  }));
  const named = new Set(known.map(({ key }) => key));
  const free = new Set<string>();
  for (const row of rows) {
    for (const key of Object.keys(row)) {
      if (!named.has(key) && !SERVER_KEYS.has(key) && free.size < MOST_FREE) free.add(key);
    }
  }
  return [
    ...known,
    ...[...free].map((key) => ({ key, label: key, type: "text" as const, free: true })),
  ];
}

/** Filters as one URL parameter: `state:is:won;price:above:10`. */
export function filtersText(filters: Filter[]): string | undefined {
  if (!filters.length) return undefined;
  return filters.map(({ field, op, value }) =>
    [field, op, value ?? ""].map(encodeURIComponent).join(":")
  ).join(";");
}

export function filtersFrom(text: string | undefined): Filter[] {
  const found: Filter[] = [];
  for (const piece of (text ?? "").split(";")) {
    const [field, op, value] = piece.split(":").map(decodeFilter);
    if (field && op && Object.hasOwn(OPS, op)) {
      const known = op as Op;
      found.push(needsValue(known) ? { field, op: known, value } : { field, op: known });
    }
  }
  return found.slice(0, 10);
}

function decodeFilter(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The query parameters besides the position; each filter is a JSON value. */
export function viewQuery({ search, sort, descending, filters }: RowView) {
  return {
    ...(search ? { search } : {}),
    ...(sort ? { sort, descending: Boolean(descending) } : {}),
    ...(filters.length
      ? { filters: filters.map((one) => JSON.stringify(one)) as unknown as never[] }
      : {}),
  };
}

export const isLooking = ({ search, sort, filters }: RowView) =>
  Boolean(search || sort || filters.length);

/** The source of a row as text: `run:0190…` → "a run". */
export function describeSource(src: string | undefined): string {
  const kind = (src ?? "").split(":")[0];
  const labels: Record<string, string> = {
    member: t.boards.aMember,
    run: t.boards.aRun,
    client: t.boards.aProgramWithAToken,
    refresh: t.boards.anExternalRefresh,
    link: t.boards.anExternalRefresh,
  };
  return labels[kind ?? ""] ?? (src || t.boards.unknown);
}
