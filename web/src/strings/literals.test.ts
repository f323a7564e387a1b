import ts from "typescript";
import { expect, test } from "vitest";

// Every text that a person reads is in the catalogue.

const SOURCES = import.meta.glob<string>(["../**/*.tsx", "!../**/*.test.tsx"], {
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
]);
const CODE = new Set(["Code", "code", "Kbd"]);

const hasWords = (text: string) => /\p{L}{2}/u.test(text) && !ALLOWED.has(text.trim());

function isCode(node: ts.Node): boolean {
  if (!ts.isJsxElement(node)) return false;
  const { tagName } = node.openingElement;
  return CODE.has(tagName.getText()) || /className="mono"/.test(node.openingElement.getText());
}

function literalsIn(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isJsxText(node) && hasWords(node.text) && !isCode(node.parent)) {
      found.push(`${path}: ${node.text.trim()}`);
    }
    if (ts.isJsxAttribute(node) && ATTRIBUTES.has(node.name.getText())) {
      const value = node.initializer;
      if (value && ts.isStringLiteral(value) && hasWords(value.text)) {
        found.push(`${path}: ${node.name.getText()}="${value.text}"`);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test("no screen has a literal text; it belongs in strings/en", () => {
  const found = Object.entries(SOURCES).flatMap(([path, text]) => literalsIn(path, text));
  expect(found).toEqual([]);
});

test("a literal text is found", () => {
  expect(literalsIn("a.tsx", "<p>Some words</p>")).toHaveLength(1);
  expect(literalsIn("a.tsx", '<Input label="Some words" />')).toHaveLength(1);
  expect(literalsIn("a.tsx", "<Code>mainspring doctor</Code>")).toEqual([]);
});
