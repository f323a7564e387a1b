// One memoized row of the grid.

import type { VirtualItem } from "@tanstack/react-virtual";
import { memo, type ReactNode } from "react";
import { formatCell } from "./cells";
import type { Column, Row } from "./rows";
import { locale } from "../../strings";

type Props = {
  row: Row | undefined;
  index: number;
  top: number;
  columns: Column[];
  items: VirtualItem[];
  /** Changes whenever the visible columns or their widths do. */
  layout: string;
  /** The column of the active cell, if it is in this row. */
  active: number | null;
  selected: boolean;
  editor: ReactNode;
  idOf: (row: number, column: number) => string;
};

export const GridRow = memo(function GridRow(props: Props) {
  const { row, index, top, columns, items, active, selected, editor, idOf } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-row={index}
      style={{ transform: `translateY(${top}px)` }}
    >
      <div role="rowheader" aria-colindex={1} className="board-row-number" data-number="">
        {(index + 1).toLocaleString(locale)}
      </div>
      {items.map(({ index: at, start, size }) => {
        const column = columns[at];
        if (!column) return null;
        const isActive = active === at;
        const edited = isActive && editor !== null;
        return (
          <div
            key={column.key}
            id={idOf(index, at)}
            role="gridcell"
            aria-colindex={at + 2}
            data-column={at}
            className={`board-cell${column.type === "number" ? " is-number" : ""}${
              isActive ? " is-active" : ""
            }${edited ? " is-edited" : ""}`}
            style={{ left: start, width: size }}
          >
            {edited
              ? editor
              : row
              ? <Shown column={column} value={row[column.key]} />
              : <span className="board-waiting" />}
          </div>
        );
      })}
    </div>
  );
}, same);

function same(before: Props, now: Props): boolean {
  return before.row === now.row && before.index === now.index && before.top === now.top &&
    before.columns === now.columns && before.layout === now.layout &&
    before.active === now.active && before.selected === now.selected &&
    before.editor === null && now.editor === null;
}

function Shown({ column, value }: { column: Column; value: unknown }) {
  if (value === null || value === undefined) return null;
  if (column.type === "tags" && Array.isArray(value)) {
    return value.map((tag) => <span key={String(tag)} className="board-tag">{String(tag)}</span>);
  }
  if (column.type === "select") return <span className="board-tag">{formatCell(value)}</span>;
  if (column.type === "number" && typeof value === "number") {
    return value.toLocaleString(locale, { maximumFractionDigits: 10 });
  }
  return formatCell(value).slice(0, 300);
}
