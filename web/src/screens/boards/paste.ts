// The changes of a pasted block: updates of existing rows, and new rows after the last.

import { parseCell } from "./cells";
import type { CellPosition } from "./navigation";
import type { Column, Row } from "./rows";
import { t } from "../../strings";

export const MOST_PASTED = 5000;

type PasteResult =
  | { changed: { row_id: string }[]; added: Record<string, unknown>[] }
  | { problem: string };

export function applyPaste(
  cells: string[][],
  place: CellPosition,
  columns: Column[],
  rowAt: (index: number) => Row | undefined,
  total: number,
): PasteResult {
  if (cells.length > MOST_PASTED) {
    return { problem: t.boards.pasteAtMostRowsAt(MOST_PASTED) };
  }
  const changed: { row_id: string }[] = [];
  const added: Record<string, unknown>[] = [];
  for (const [down, line] of cells.entries()) {
    const index = place.row + down;
    const row = rowAt(index);
    if (!row && index < total) {
      return {
        problem: t.boards.someOfTheseRowsAre,
      };
    }
    const values: Record<string, unknown> = {};
    for (const [across, text] of line.entries()) {
      const column = columns[place.column + across];
      if (!column) continue;
      const read = parseCell(column, text, row?.[column.key]);
      if ("problem" in read) {
        return {
          problem: t.boards.lineNothingWasChanged(down + 1, column.label, read.problem),
        };
      }
      if (row || read.value !== null) values[column.key] = read.value;
    }
    if (row) changed.push({ row_id: row.row_id, ...values });
    else if (Object.keys(values).length) added.push(values);
  }
  return { changed, added };
}
