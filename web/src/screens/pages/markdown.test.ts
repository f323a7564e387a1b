import { expect, test } from "vitest";
import { type Block, normalizeHeadings, parseBlocks, parseInline, safeHref } from "./markdown";

const kinds = (blocks: Block[]) => blocks.map(({ kind }) => kind);

test("the usual Markdown is parsed", () => {
  const text =
    "# Title\n\nOne *two* **three**\nfour\n\n- a\n- b\n  - c\n\n1. x\n2. y\n\n> said\n\n" +
    "```sh\n<b>run</b>\n```\n\n| A | B |\n| --- | :-: |\n| 1 | `2` |\n\n---\nend";
  const blocks = parseBlocks(text);
  expect(kinds(blocks)).toEqual([
    "heading",
    "paragraph",
    "list",
    "list",
    "quote",
    "code",
    "table",
    "rule",
    "paragraph",
  ]);
  expect(blocks[2]).toMatchObject({ ordered: false, items: [[{}], [{}, { kind: "list" }]] });
  expect(blocks[3]).toMatchObject({ ordered: true, start: 1 });
  expect(blocks[5]).toEqual({ kind: "code", text: "<b>run</b>", language: "sh" });
  expect(blocks[6]).toMatchObject({ rows: [[[{ text: "1" }], [{ kind: "code", text: "2" }]]] });
});

test("HTML stays text, and only http(s) links are links", () => {
  expect(parseBlocks("<script>alert(1)</script>")).toEqual([
    { kind: "paragraph", children: [{ kind: "text", text: "<script>alert(1)</script>" }] },
  ]);
  for (
    const bad of [
      "javascript:alert(1)",
      "JaVaScRiPt:x",
      "data:text/html,x",
      "//evil",
      "/api/v1",
      "vbscript:x",
    ]
  ) {
    expect(safeHref(bad)).toBeNull();
    expect(parseInline(`[a](${bad})`).some(({ kind }) => kind === "link")).toBe(false);
  }
  expect(parseInline("[a](https://x.example/y)")[0]).toMatchObject({
    kind: "link",
    href: "https://x.example/y",
  });
  expect(parseInline("see https://x.example/a_b_c now")[1]).toMatchObject({ kind: "link" });
  expect(parseInline("snake_case_name")).toEqual([{ kind: "text", text: "snake_case_name" }]);
});

test("hostile input terminates: deep quotes, lists and endless marks", () => {
  expect(parseBlocks(">".repeat(5000) + " x").length).toBe(1);
  expect(parseBlocks("- ".repeat(5000)).length).toBe(1);
  for (const mark of ["*", "_", "[", "`", "**a", "![", "~~"]) {
    expect(parseInline(mark.repeat(20_000)).length).toBeGreaterThan(0);
  }
  expect(kinds(parseBlocks("```\nnever closed"))).toEqual(["code"]);
  expect(kinds(parseBlocks("|".repeat(3000) + "\n" + "-|".repeat(3000)))).toEqual(["table"]);
});

test("heading levels have no gaps below the title of the screen", () => {
  const levels = (blocks: Block[]): number[] =>
    blocks.flatMap((block) =>
      block.kind === "heading" ? [block.level] : block.kind === "quote" ? levels(block.blocks) : []
    );
  expect(levels(normalizeHeadings(parseBlocks("## a\n#### b\n# c\n> ### d")))).toEqual([
    2,
    3,
    2,
    3,
  ]);
});
