import { expect, test } from "vitest";
import { cellAfterEdit, nextCell } from "./navigation";
import { applyPaste } from "./paste";
import type { Column } from "./rows";

const columns: Column[] = [{ key: "a", label: "A", type: "text" }, {
  key: "n",
  label: "N",
  type: "number",
}];
const rows = [{ row_id: "r0", a: "x", n: 1 }, { row_id: "r1", a: "y", n: 2 }];
const rowAt = (at: number) => rows[at];

test("a pasted block updates and adds rows, or changes nothing at all", () => {
  const block = [["p", "5"], ["q", ""], ["too much", "7", "beyond"]];
  expect(applyPaste(block.slice(0, 2), { row: 1, column: 0 }, columns, rowAt, 2)).toEqual({
    changed: [{ row_id: "r1", a: "p", n: 5 }],
    added: [{ a: "q" }],
  });
  expect(applyPaste(block, { row: 0, column: 1 }, columns, rowAt, 2)).toHaveProperty("problem");
  expect(applyPaste([["x"]], { row: 5, column: 0 }, columns, rowAt, 100_000)).toHaveProperty(
    "problem",
  );
});

test("keys move through the table and stop at its edges", () => {
  const key = (name: string, ctrlKey = false) => ({
    key: name,
    ctrlKey,
    metaKey: false,
    shiftKey: false,
  });
  expect(nextCell({ row: 0, column: 0 }, key("ArrowUp"), 100, 5, 20)).toEqual({
    row: 0,
    column: 0,
  });
  expect(nextCell({ row: 90, column: 2 }, key("PageDown"), 100, 5, 20)).toEqual({
    row: 99,
    column: 2,
  });
  expect(nextCell({ row: 0, column: 0 }, key("End", true), 100, 5, 20)).toEqual({
    row: 99,
    column: 4,
  });
  expect(nextCell({ row: 0, column: 0 }, key("x"), 100, 5, 20)).toBeNull();
  expect(cellAfterEdit({ row: 3, column: 4 }, "right", 100, 5)).toEqual({ row: 4, column: 0 });
});
