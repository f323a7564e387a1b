// A preview is Markdown that somebody else wrote. The little of it that previews use becomes
// elements; whatever else stands there stays text, and nothing of it is ever read as HTML.

import { el } from "./parts.js";

const INLINE = /(`[^`]+`|\*\*\S(?:.*?\S)?\*\*|\*[^\s*](?:[^*]*[^\s*])?\*)/;
const RULE = /^\|\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/;
// A longer line is no sentence with something bold in it.
const LONGEST = 2000;

// Text with what is bold, leaning or code in it.
function inline(text) {
  if (text.length > LONGEST) return [text];
  return text.split(INLINE).filter(Boolean).map((piece) => {
    if (!INLINE.test(piece)) return piece;
    if (piece.startsWith("`")) return el("code", {}, piece.slice(1, -1));
    return piece.startsWith("**")
      ? el("strong", {}, ...inline(piece.slice(2, -2)))
      : el("em", {}, ...inline(piece.slice(1, -1)));
  });
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

function table(lines) {
  const ruled = lines.length > 1 && RULE.test(lines[1].trim());
  const row = (kind) => (line) => el("tr", {}, ...cells(line).map((cell) => el(kind, {}, ...inline(cell))));
  const body = el("tbody", {}, ...lines.slice(ruled ? 2 : 0).map(row("td")));
  return el("table", {}, ruled ? el("thead", {}, row("th")(lines[0])) : "", body);
}

// A line break of the writer is one for the reader.
const broken = (lines) => lines.flatMap((line, place) => (place ? [el("br"), ...inline(line)] : inline(line)));

// Quotes in quotes end somewhere, whatever is written.
const DEEPEST = 4;
function quote(lines, depth) {
  const inner = lines.map((line) => line.replace(/^>\s?/, ""));
  return [el("blockquote", {}, ...(depth < DEEPEST ? blocks(inner, depth + 1) : [inner.join("\n")]))];
}

const ITEM = /^\s*(?:[-*]|\d+\.)\s+/;
const KINDS = [
  { is: (line) => line.startsWith(">"), make: quote },
  { is: (line) => line.startsWith("|"), make: (all) => [table(all)] },
  // It is a heading of a sample and none of this page.
  { is: (line) => /^#{1,6}\s/.test(line), make: (all) => all.map((line) => el("p", { class: "headed" }, ...inline(line.replace(/^#+\s+/, "")))) },
  { is: (line) => ITEM.test(line), make: (all) => [el("ul", {}, ...all.map((line) => el("li", {}, ...inline(line.replace(ITEM, "")))))] },
  { is: (line) => line.trim() !== "", make: (all) => [el("p", {}, ...broken(all))] },
];
const kindOf = (line) => KINDS.find((one) => one.is(line));

function blocks(lines, depth) {
  const made = [];
  let held = [];
  let kind;
  const end = () => {
    if (kind) made.push(...kind.make(held, depth));
    held = [];
  };
  for (const line of lines) {
    const next = kindOf(line);
    if (next !== kind) end();
    kind = next;
    if (kind) held.push(line);
  }
  end();
  return made;
}

// What people see before they install.
export const preview = (text) => (text ? [el("div", { class: "sample" }, ...blocks(text.split(/\r?\n/), 0))] : []);
