import ts from "typescript";
import { expect, test } from "vitest";

// Every text that a person reads is in the catalogue.

const SOURCES = import.meta.glob<string>([
  "../**/*.{ts,tsx}",
  "!../**/*.test.{ts,tsx}",
  "!../strings/**",
  "!../api/schema.d.ts",
], {
  query: "?raw",
  import: "default",
  eager: true,
});

const ATTRIBUTES = new Set([
  "alt",
  "aria-label",
  "description",
  "label",
  "legend",
  "nothingFoundMessage",
  "placeholder",
  "title",
]);

// Names, code and examples that no language translates.
const ALLOWED = new Set([
  "Mainspring",
  "JSON",
  "CSV",
  "Ctrl K",
  "Lab",
  "Beta",
  "Contacts",
  "contacts",
  "HTML",
  "mainspring login",
  "customers",
  "prs",
  "https://example.com/mcp",
  "http://127.0.0.1:11434/v1",
  "BCDF-GHJK",
  // The content of an API call to copy.
  "It writes to the wrong list.",
]);
const CODE = new Set(["Code", "code", "Kbd"]);

const hasWords = (text: string) => /\p{L}{2}/u.test(text) && !ALLOWED.has(text.trim());

function isCode(node: ts.Node): boolean {
  if (!ts.isJsxElement(node)) return false;
  const { tagName } = node.openingElement;
  return CODE.has(tagName.getText()) || /className="mono"/.test(node.openingElement.getText());
}

// A sentence or a label of several words, wherever it is.
const isPhrase = (text: string) => /^\p{Lu}\p{Ll}+ \p{Ll}/u.test(text) && !ALLOWED.has(text.trim());

/** The strings that an expression may result in: "a", or one of "a" and "b" in `x ? "a" : "b"`. */
function resultsOf(node: ts.Expression | undefined): string[] {
  if (!node) return [];
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isParenthesizedExpression(node)) return resultsOf(node.expression);
  if (ts.isConditionalExpression(node)) {
    return [...resultsOf(node.whenTrue), ...resultsOf(node.whenFalse)];
  }
  if (ts.isBinaryExpression(node)) return [...resultsOf(node.left), ...resultsOf(node.right)];
  if (ts.isTemplateExpression(node)) {
    return [node.head.text, ...node.templateSpans.map((one) => one.literal.text)];
  }
  return [];
}

function textsOf(node: ts.Node): string[] {
  if (ts.isJsxText(node)) return isCode(node.parent) ? [] : [node.text];
  if (ts.isJsxExpression(node) && ts.isJsxElement(node.parent)) {
    return isCode(node.parent) ? [] : resultsOf(node.expression);
  }
  if (!ts.isJsxAttribute(node) || !ATTRIBUTES.has(node.name.getText())) return [];
  const value = node.initializer;
  if (value && ts.isJsxExpression(value)) return resultsOf(value.expression);
  return value && ts.isStringLiteral(value) ? [value.text] : [];
}

const isLiteral = (node: ts.Node) =>
  ts.isStringLiteralLike(node) || ts.isTemplateHead(node) ||
  ts.isTemplateMiddleOrTemplateTail(node);

function literalsIn(path: string, text: string): string[] {
  const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind);
  const found = new Set<string>();
  const visit = (node: ts.Node) => {
    for (const one of textsOf(node).filter(hasWords)) found.add(`${path}: ${one.trim()}`);
    if (isLiteral(node) && isPhrase((node as ts.LiteralLikeNode).text)) {
      found.add(`${path}: ${(node as ts.LiteralLikeNode).text.trim()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...found];
}

test("no screen has a literal text; it belongs in strings/en", () => {
  const found = Object.entries(SOURCES).flatMap(([path, text]) => literalsIn(path, text));
  expect(found).toEqual([]);
}, 60_000);

test("a literal text is found", () => {
  expect(literalsIn("a.tsx", "<p>Some words</p>")).toHaveLength(1);
  expect(literalsIn("a.tsx", '<Input label="Some words" />')).toHaveLength(1);
  expect(literalsIn("a.tsx", '<p title={x ? "Some" : t.b.c}>{y ? "more" : null}</p>')).toHaveLength(
    2,
  );
  expect(literalsIn("a.ts", 'notifyDone("The run started.")')).toHaveLength(1);
  expect(literalsIn("a.tsx", "<Code>mainspring doctor</Code>")).toEqual([]);
  expect(literalsIn("a.ts", 'status === "timed_out"')).toEqual([]);
});
