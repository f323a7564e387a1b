// Keyboard navigation in a table.

import type { Step } from "./CellEditor";

export type CellPosition = { row: number; column: number };
type Key = { key: string; ctrlKey: boolean; metaKey: boolean; shiftKey: boolean };

const within = (place: CellPosition, rows: number, columns: number): CellPosition => ({
  row: Math.max(0, Math.min(rows - 1, place.row)),
  column: Math.max(0, Math.min(columns - 1, place.column)),
});

/** The cell that a key moves to; null: not a navigation key. Tab leaves the table. */
export function nextCell(
  { row, column }: CellPosition,
  { key, ctrlKey, metaKey }: Key,
  rows: number,
  columns: number,
  page: number,
): CellPosition | null {
  const far = ctrlKey || metaKey;
  const places: Record<string, CellPosition> = {
    ArrowUp: { row: far ? 0 : row - 1, column },
    ArrowDown: { row: far ? rows - 1 : row + 1, column },
    ArrowLeft: { row, column: far ? 0 : column - 1 },
    ArrowRight: { row, column: far ? columns - 1 : column + 1 },
    PageUp: { row: row - page, column },
    PageDown: { row: row + page, column },
    Home: far ? { row: 0, column: 0 } : { row, column: 0 },
    End: far ? { row: rows - 1, column: columns - 1 } : { row, column: columns - 1 },
  };
  const place = places[key];
  return place ? within(place, rows, columns) : null;
}

/** The active cell after an edit. */
export function cellAfterEdit(
  place: CellPosition,
  step: Step,
  rows: number,
  columns: number,
): CellPosition {
  const { row, column } = place;
  if (step === "down") return within({ row: row + 1, column }, rows, columns);
  if (step === "right") {
    return column + 1 < columns
      ? { row, column: column + 1 }
      : within({ row: row + 1, column: 0 }, rows, columns);
  }
  if (step === "left") {
    return column > 0
      ? { row, column: column - 1 }
      : within({ row: row - 1, column: columns - 1 }, rows, columns);
  }
  return place;
}
