import { brains } from "https://brains/sdks/automation-sdk-v1.ts";

// What is there upstream. Every item has an id of its own that never changes.
async function upstream() {
  const found = await brains.search({ q: "__QUERY__", type: "__PAGE_TYPE__", limit: 50 });
  return found.pages.map((page) => ({ id: page.id, text: page.title }));
}

// Which row an item is about.
function isAbout(item, row) {
  return item.text.includes(String(row["__MATCH_FIELD__"]));
}

// The rows of this page to which something is added.
function changedRows(rows, items) {
  const changed = [];
  for (const row of rows) {
    const kept = Array.isArray(row["__TARGET_FIELD__"]) ? row["__TARGET_FIELD__"] : [];
    // Read what the list holds already, and add only what it does not.
    const there = new Set(kept.map((entry) => entry["__KEY_FIELD__"]));
    const fresh = items.filter((item) => isAbout(item, row) && !there.has(item.id));
    if (fresh.length > 0) {
      const added = fresh.map((item) => ({ "__KEY_FIELD__": item.id, text: item.text }));
      changed.push({ row_id: row.row_id, "__TARGET_FIELD__": [...kept, ...added] });
    }
  }
  return changed;
}

// Every row of the board, page by page: one page holds a thousand rows at the most.
const items = await upstream();
let updated = 0;
let last = null;
while (true) {
  const board = await brains.get_board({
    board_id: "__BOARD_ID__",
    dataset: "__DATASET__",
    ...(last ? { after: last } : {}),
  });
  const rows = board.data.datasets["__DATASET__"].rows;
  if (rows.length === 0) break;
  last = rows[rows.length - 1].row_id;
  const changed = changedRows(rows, items);
  if (changed.length > 0) {
    // The whole list is written, so whoever writes the same at the same moment writes it once.
    const done = await brains.update_board_rows({
      board_id: "__BOARD_ID__",
      dataset: "__DATASET__",
      rows: changed,
    });
    updated += done.updated;
  }
}
console.log(updated > 0 ? `${updated} rows changed` : `nothing new among ${items.length}`);
return { updated };
