// Exports all rows of the current view as CSV.

import { csvLine } from "./csv";
import type { Column, RowView } from "./rows";
import { loadRows } from "./useRows";

const AT_ONCE = 1000;

export async function exportCsv(
  boardId: string,
  dataset: string,
  columns: Column[],
  look: RowView,
  progress: (share: number) => void,
): Promise<void> {
  const load = loadRows(boardId, dataset, look);
  const pieces = [csvLine(columns.map(({ label }) => label))];
  const { signal } = new AbortController();
  for (let offset = 0;;) {
    const { rows, total, more } = await load(offset, AT_ONCE, signal);
    for (const row of rows) pieces.push(csvLine(columns.map(({ key }) => row[key])));
    offset += rows.length;
    // While the total is only a lower bound, the progress assumes that half is still to come.
    progress(more ? offset / (2 * total) : total ? offset / total : 1);
    if (!rows.length || offset >= total) break;
  }
  save(new Blob(pieces, { type: "text/csv;charset=utf-8" }), `${dataset}.csv`);
}

function save(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
