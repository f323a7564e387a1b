import { expect, test } from "vitest";
import { formatCell, parseCell } from "./cells";
import { csv, formatTabbed, parseCells } from "./csv";
import { type Column, filtersFrom, filtersText, viewQuery } from "./rows";

const column = (type: Column["type"], more: Partial<Column> = {}): Column => ({
  key: "k",
  label: "K",
  type,
  ...more,
});

test("a text is parsed for its column, or the error is reported", () => {
  expect(parseCell(column("number"), " 1 250.5 ")).toEqual({ value: 1250.5 });
  expect(parseCell(column("number"), "1e400")).toHaveProperty("problem");
  expect(parseCell(column("number"), "12px")).toHaveProperty("problem");
  expect(parseCell(column("number"), "")).toEqual({ value: null });
  expect(parseCell(column("date"), "2026-02-31")).toHaveProperty("problem");
  expect(parseCell(column("date"), "2026-02-28")).toEqual({ value: "2026-02-28" });
  expect(parseCell(column("select", { options: ["open", "won"] }), "WON")).toEqual({
    value: "won",
  });
  expect(parseCell(column("select", { options: ["open"] }), "x")).toHaveProperty("problem");
  expect(parseCell(column("tags"), "a, b,,a")).toEqual({ value: ["a", "b"] });
  expect(parseCell(column("text"), "007")).toEqual({ value: "007" });
  expect(parseCell(column("text", { free: true }), "8", 7)).toEqual({ value: 8 });
  expect(parseCell(column("text", { free: true }), "{", {})).toHaveProperty("problem");
  expect(formatCell({ a: 1 })).toBe('{"a":1}');
});

test("CSV keeps commas, quotes and line breaks, and escapes formulas", () => {
  const columns = [
    column("text", { key: "a", label: "A" }),
    column("number", { key: "b", label: "B" }),
  ];
  const rows = [{ row_id: "1", a: 'x,"y"\nz', b: -5 }, {
    row_id: "2",
    a: "=HYPERLINK(1)",
    b: null,
  }];
  expect(csv(columns, rows)).toBe('A,B\r\n"x,""y""\nz",-5\r\n\'=HYPERLINK(1),\r\n');
  expect(parseCells(formatTabbed(columns, rows))).toEqual([['x,"y"\nz', "-5"], [
    "=HYPERLINK(1)",
    "",
  ]]);
  expect(formatTabbed(columns, rows)).toContain("\n'=HYPERLINK(1)\t");
  for (const text of ["+1+cmd", " =1", "＝1", "\u3000＠x", "－1", "\t=1", "'=1"]) {
    const one = [{ row_id: "1", a: text, b: 1 }];
    expect(csv(columns, one)).toBe(`A,B\r\n'${text},1\r\n`);
    expect(formatTabbed(columns, one).replace('"', "")).toMatch(/^'/);
    expect(parseCells(formatTabbed(columns, one))).toEqual([[text, "1"]]);
  }
  expect(parseCells("'tis\t-5")).toEqual([["'tis", "-5"]]);
  expect(parseCells("a\tb\r\nc\td\r\n")).toEqual([["a", "b"], ["c", "d"]]);
});

test("a filter with an unknown operator is ignored", () => {
  expect(filtersFrom("a:constructor:1;a:toString:1")).toEqual([]);
});

test("filters round-trip through the URL", () => {
  const filters = [
    { field: "a:b;c", op: "is" as const, value: "x;y:%" },
    { field: "d", op: "empty" as const },
  ];
  expect(filtersFrom(filtersText(filters))).toEqual(filters);
  expect(filtersFrom("nonsense;a:like:b;%:is:1")).toEqual([{ field: "%", op: "is", value: "1" }]);
  expect(viewQuery({ filters: [] })).toEqual({});
});
