// The column headers: click to sort, drag the right edge to resize.

import type { VirtualItem } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import type { PointerEvent } from "react";
import type { Column, RowView } from "./rows";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

export const NARROWEST = 60;
export const WIDEST = 800;
export const NUMBER_WIDTH = 64;

type Props = {
  columns: Column[];
  items: VirtualItem[];
  width: number;
  look: RowView;
  sort: (key: string) => void;
  resize: (key: string, width: number) => void;
};

export function GridHead({ columns, items, width, look, sort, resize }: Props) {
  return (
    <div role="rowgroup" className="board-grid-head" style={{ width }}>
      <div role="row" aria-rowindex={1}>
        <div role="columnheader" aria-colindex={1} className="board-row-number">#</div>
        {items.map(({ index, start, size }) => {
          const column = columns[index];
          if (!column) return null;
          const sorted = look.sort === column.key;
          const way = sorted ? (look.descending ? "descending" : "ascending") : "none";
          return (
            <div
              key={column.key}
              role="columnheader"
              aria-colindex={index + 2}
              aria-sort={way}
              className="board-cell"
              style={{ left: start, width: size }}
            >
              <button
                type="button"
                className="board-head-button"
                onClick={() => sort(column.key)}
              >
                <span
                  title={column.free ? t.boards.notAColumnOfThe(column.label) : column.label}
                >
                  {escapeInvisible(column.label)}
                </span>
                {sorted
                  ? (look.descending
                    ? <ArrowDown size={14} aria-hidden />
                    : <ArrowUp size={14} aria-hidden />)
                  : null}
              </button>
              <Edge size={size} set={(next) => resize(column.key, next)} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** For the pointer only: with the keyboard, Alt and an arrow do the same in the grid. */
function Edge({ size, set }: { size: number; set: (width: number) => void }) {
  const begin = (event: PointerEvent<HTMLDivElement>) => {
    event.preventDefault();
    const edge = event.currentTarget;
    const from = event.clientX;
    edge.setPointerCapture(event.pointerId);
    const move = (moved: globalThis.PointerEvent) =>
      set(Math.min(WIDEST, Math.max(NARROWEST, size + moved.clientX - from)));
    const end = () => {
      edge.removeEventListener("pointermove", move);
      edge.removeEventListener("pointerup", end);
      edge.removeEventListener("pointercancel", end);
    };
    edge.addEventListener("pointermove", move);
    edge.addEventListener("pointerup", end);
    edge.addEventListener("pointercancel", end);
  };
  return <div className="board-resize" aria-hidden onPointerDown={begin} />;
}
