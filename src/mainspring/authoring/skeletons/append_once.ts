import { brains } from "https://brains/sdks/automation-sdk-v1.ts";

// What is there upstream. Every item has an id of its own that never changes.
async function upstream() {
  const found = await brains.search({ q: "__QUERY__", type: "__PAGE_TYPE__", limit: 50 });
  return found.pages.map((page) => ({ id: page.id, title: page.title }));
}

// Every key on the board, page by page: one page holds a thousand rows at the most.
async function keysThere() {
  const keys = new Set();
  let last = null;
  while (true) {
    const board = await brains.get_board({
      board_id: "__BOARD_ID__",
      dataset: "__DATASET__",
      ...(last ? { after: last } : {}),
    });
    const rows = board.data.datasets["__DATASET__"].rows;
    if (rows.length === 0) return keys;
    for (const row of rows) keys.add(row["__KEY_FIELD__"]);
    last = rows[rows.length - 1].row_id;
  }
}

// Read what is written already, and skip it: a second run and a replay write nothing.
const there = await keysThere();
const items = await upstream();
const fresh = items.filter((item) => !there.has(item.id));
if (fresh.length === 0) {
  console.log(`nothing new among ${items.length}`);
  return { appended: 0, skipped: items.length };
}

// The key is named again here: of two who append the same at the same moment, one is skipped.
const done = await brains.append_board_rows({
  board_id: "__BOARD_ID__",
  dataset: "__DATASET__",
  dedupe_key_field: "__KEY_FIELD__",
  rows: fresh.map((item) => ({ "__KEY_FIELD__": item.id, title: item.title })),
});
console.log(`${done.appended} appended, ${done.skipped} there already`);
return { appended: done.appended, skipped: items.length - done.appended };
