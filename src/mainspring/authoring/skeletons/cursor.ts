import { brains, kv } from "https://brains/sdks/automation-sdk-v1.ts";

// What came upstream since the cursor, the oldest first, each with an id that never changes.
async function upstreamSince(cursor) {
  const items = [];
  let next = null;
  do {
    const found = await brains.list_pages({
      type: "__PAGE_TYPE__",
      limit: 100,
      ...(cursor ? { ingested_after: cursor } : {}),
      ...(next ? { cursor: next } : {}),
    });
    items.push(...found.pages);
    next = found.next;
  } while (next !== null);
  return items.sort((a, b) => (a.ingested_at < b.ingested_at ? -1 : 1));
}

const cursor = await kv.get("cursor", null);
const items = await upstreamSince(cursor);
if (items.length === 0) {
  console.log("nothing since the cursor");
  return { appended: 0 };
}

// The cursor is this automation's own, so it cannot see what a teammate's has written: the key
// field does, and it also covers a run that broke off before its cursor moved.
const done = await brains.append_board_rows({
  board_id: "__BOARD_ID__",
  dataset: "__DATASET__",
  dedupe_key_field: "__KEY_FIELD__",
  rows: items.map((item) => ({ "__KEY_FIELD__": item.id, title: item.title })),
});

// Only what is written moves the cursor.
await kv.set("cursor", items[items.length - 1].ingested_at);
console.log(`${done.appended} appended, ${done.skipped} there already`);
return { appended: done.appended };
