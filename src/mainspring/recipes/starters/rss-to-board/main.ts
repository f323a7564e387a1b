// Reads an RSS or Atom feed and keeps each of its entries once, as a row of the reading list.
import { brains } from "https://brains/sdks/automation-sdk-v1.ts";

const FEED = "{{ install.settings.scheme }}://{{ install.settings.host }}{{ install.settings.path }}";
const BOARD = "{{ install.board.id }}";
const MOST = 100;
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

function decoded(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z]{2,6});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? whole;
    const hex = name[1].toLowerCase() === "x";
    const code = parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}

// What a person would read of a part of the feed, which may be text, markup or either in disguise.
function plain(markup: string): string {
  const raw = markup.replace(/<!\[CDATA\[([\s\S]*?)\]\]>/g, (_, inside: string) => inside);
  return decoded(decoded(raw).replace(/<[^>]*>/g, " ")).replace(/\s+/g, " ").trim();
}

function part(entry: string, ...names: string[]): string {
  for (const name of names) {
    const found = entry.match(new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, "i"));
    if (found && plain(found[1])) return plain(found[1]);
  }
  return "";
}

function link(entry: string): string {
  const atom = [...entry.matchAll(/<link\s([^>]*)>/gi)]
    .map((one) => one[1])
    .filter((one) => !/rel\s*=\s*["'](?!alternate)/i.test(one))
    .map((one) => one.match(/href\s*=\s*["']([^"']*)["']/i)?.[1] ?? "")
    .find((one) => one);
  return decoded(atom ?? "") || part(entry, "link");
}

function moment(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) ? "" : new Date(at).toISOString();
}

const answer = await brains.http_fetch({ url: FEED, method: "GET" });
const entries = [...String(answer.text ?? "").matchAll(/<(item|entry)(?:\s[^>]*)?>([\s\S]*?)<\/\1>/gi)];
const rows = entries.slice(0, MOST).map(([, , entry]) => ({
  // Ids of entries are their own feed's business: two feeds may use the same one.
  ref: `${FEED}#${part(entry, "guid", "id") || link(entry) || part(entry, "title")}`,
  published: moment(part(entry, "pubDate", "published", "updated", "dc:date")) || null,
  title: part(entry, "title") || "(no title)",
  url: link(entry),
  author: part(entry, "dc:creator", "name", "author"),
  summary: part(entry, "description", "summary", "content", "content:encoded").slice(0, 500),
  state: "new",
}));
if (rows.length === 0) return { read: 0, added: 0 };
const kept = await brains.append_board_rows({ board_id: BOARD, rows, dedupe_key_field: "ref" });
return { read: rows.length, added: kept.appended };
