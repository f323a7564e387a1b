// Markdown as a plain tree: headings, paragraphs, lists, quotes, code and tables, with inline links
// and emphasis. There is no HTML node, so HTML stays text, and only http(s) links are links.

export type Inline =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em" | "strike"; children: Inline[] }
  | { kind: "link"; href: string; children: Inline[] };

export type Block =
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "code"; text: string; language: string }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; ordered: boolean; start: number; items: Block[][] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const DEEPEST = 8;
const FENCE = /^ {0,3}(```+|~~~+)\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const QUOTE = /^ {0,3}> ?/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

export function parseBlocks(text: string, depth = 0): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = blockAt(lines, at, depth);
    if (block) blocks.push(block);
    at = Math.max(next, at + 1);
  }
  return blocks;
}

/** Heading levels without gaps, for screen readers; the first is level 2. */
export function normalizeHeadings(blocks: Block[], above = { level: 1 }): Block[] {
  return blocks.map((block) => {
    if (block.kind === "heading") {
      above.level = Math.min(6, block.level + 1, above.level + 1);
      return { ...block, level: above.level };
    }
    if (block.kind === "quote") return { ...block, blocks: normalizeHeadings(block.blocks, above) };
    if (block.kind === "list") {
      return { ...block, items: block.items.map((item) => normalizeHeadings(item, above)) };
    }
    return block;
  });
}

function blockAt(lines: string[], at: number, depth: number): [Block | null, number] {
  const line = lines[at]!;
  if (!line.trim()) return [null, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return parseFence(lines, at, fence[1]!, fence[2]!);
  const heading = HEADING.exec(line);
  if (heading) {
    return [
      { kind: "heading", level: heading[1]!.length, children: parseInline(heading[2]!) },
      at + 1,
    ];
  }
  if (RULE.test(line)) return [{ kind: "rule" }, at + 1];
  if (depth < DEEPEST && QUOTE.test(line)) return parseQuote(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return parseList(lines, at, depth);
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "") && lines[at + 1]!.includes("-")) {
    return parseTable(lines, at);
  }
  return parseParagraph(lines, at, depth);
}

function parseFence(lines: string[], at: number, fence: string, language: string): [Block, number] {
  let end = at + 1;
  while (end < lines.length && !closes(lines[end]!, fence)) end++;
  return [{ kind: "code", text: lines.slice(at + 1, end).join("\n"), language }, end + 1];
}

const closes = (line: string, fence: string) => {
  const trimmed = line.trim();
  return trimmed.startsWith(fence) && trimmed.replaceAll(fence[0]!, "") === "";
};

function parseQuote(lines: string[], at: number, depth: number): [Block, number] {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end]!)) end++;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, "")).join("\n");
  return [{ kind: "quote", blocks: parseBlocks(inner, depth + 1) }, end];
}

function parseList(lines: string[], at: number, depth: number): [Block, number] {
  const mark = ITEM.exec(lines[at]!)![2]!;
  const ordered = /\d/.test(mark);
  const items: Block[][] = [];
  let next = at;
  while (next < lines.length) {
    const found = ITEM.exec(lines[next]!);
    if (!found || /\d/.test(found[2]!) !== ordered || RULE.test(lines[next]!)) break;
    const width = found[0].length;
    const own = [lines[next]!.slice(width)];
    next++;
    while (next < lines.length) {
      const line = lines[next]!;
      const indent = line.length - line.trimStart().length;
      if (line.trim() && indent < Math.min(width, 2)) break;
      if (!line.trim() && !(lines[next + 1] ?? "").startsWith("  ")) break;
      own.push(line.slice(Math.min(indent, width)));
      next++;
    }
    items.push(parseBlocks(own.join("\n"), depth + 1));
    while (next < lines.length && !lines[next]!.trim() && ITEM.test(lines[next + 1] ?? "")) {
      next++;
    }
  }
  return [{ kind: "list", ordered, start: ordered ? parseInt(mark) : 1, items }, next];
}

const cellsOf = (line: string) =>
  line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) =>
    parseInline(cell.trim().replaceAll("\\|", "|"))
  );

function parseTable(lines: string[], at: number): [Block, number] {
  const head = cellsOf(lines[at]!);
  const rows: Inline[][][] = [];
  let next = at + 2;
  while (next < lines.length && lines[next]!.trim() && lines[next]!.includes("|")) {
    rows.push(cellsOf(lines[next]!).slice(0, head.length));
    next++;
  }
  return [{ kind: "table", head, rows }, next];
}

function parseParagraph(lines: string[], at: number, depth: number): [Block, number] {
  let end = at + 1;
  while (end < lines.length && continues(lines[end]!, depth)) end++;
  const text = lines.slice(at, end).map((line) => line.trim()).join("\n");
  return [{ kind: "paragraph", children: parseInline(text) }, end];
}

const continues = (line: string, depth: number) =>
  line.trim() !== "" && !FENCE.test(line) && !HEADING.test(line) && !RULE.test(line) &&
  !(depth < DEEPEST && (QUOTE.test(line) || ITEM.test(line)));

/** Only http(s) URLs; no scripts, no data URLs, no paths of this server. */
export function safeHref(text: string): string | null {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const { protocol, href } = new URL(text);
    return protocol === "http:" || protocol === "https:" ? href : null;
  } catch {
    return null;
  }
}

// Each alternative is linear and bounded: no input causes backtracking.
const PIECE =
  /(`{1,3})([^`]{1,400})\1|!?\[([^\][]{0,500})\]\(\s*<?([^\s()<>]{1,1000})>?(?:\s+"[^"]{0,200}")?\s*\)|<?(https?:\/\/[^\s<>"')\]]{1,1000})>?|\*\*([^*]{1,400})\*\*|~~([^~]{1,400})~~|\*([^*\s][^*]{0,400})\*|(?<![\p{L}\p{N}])_([^_\s][^_]{0,400})_(?![\p{L}\p{N}])/gu;

export function parseInline(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  let last = 0;
  const plain = (until: number) => {
    if (until > last) found.push({ kind: "text", text: unescaped(text.slice(last, until)) });
  };
  if (depth > DEEPEST) return [{ kind: "text", text }];
  for (const match of text.matchAll(PIECE)) {
    if (match.index > 0 && text[match.index - 1] === "\\") continue;
    plain(match.index);
    found.push(piece(match, depth));
    last = match.index + match[0].length;
  }
  plain(text.length);
  return found;
}

const unescaped = (text: string) => text.replace(/\\([\\`*_{}[\]()#+\-.!|~>])/g, "$1");

function piece(match: RegExpExecArray, depth: number): Inline {
  const [whole, , code, label, target, bare, strong, strike, star, under] = match;
  if (code !== undefined) return { kind: "code", text: code };
  if (target !== undefined) {
    const href = safeHref(target);
    const children = label
      ? parseInline(label, depth + 1)
      : [{ kind: "text" as const, text: target }];
    return href ? { kind: "link", href, children } : { kind: "text", text: whole };
  }
  if (bare !== undefined) {
    const href = safeHref(bare);
    return href
      ? { kind: "link", href, children: [{ kind: "text", text: bare }] }
      : { kind: "text", text: whole };
  }
  if (strong !== undefined) return { kind: "strong", children: parseInline(strong, depth + 1) };
  if (strike !== undefined) return { kind: "strike", children: parseInline(strike, depth + 1) };
  return { kind: "em", children: parseInline(star ?? under ?? "", depth + 1) };
}
