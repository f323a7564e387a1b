// The grid of a dataset, for a hundred thousand rows: only visible rows are rendered, and only
// nearby ones are fetched. The keyboard moves an active cell; the grid element keeps the focus.

import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type MouseEvent,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { CellEditor, type Step } from "./CellEditor";
import "./grid.css";
import { GridHead, NARROWEST, NUMBER_WIDTH, WIDEST } from "./GridHead";
import { GridRow } from "./GridRow";
import { cellAfterEdit, type CellPosition, nextCell } from "./navigation";
import type { Column, Row, RowView } from "./rows";
import type { RowWindows } from "./rowWindows";

const HEIGHT = 36;

type Props = {
  label: string;
  windows: RowWindows;
  columns: Column[];
  look: RowView;
  widths: Record<string, number>;
  mayEdit: boolean;
  active: CellPosition;
  selected: ReadonlySet<string>;
  setActive: (place: CellPosition) => void;
  setSelected: (row: Row, index: number, range: boolean) => void;
  sort: (key: string) => void;
  resize: (key: string, width: number) => void;
  keep: (row: Row, column: Column, value: unknown) => Promise<unknown>;
  paste: (text: string, place: CellPosition) => void;
  copy: () => string;
  /** Reports the visible range, so that a reload can fetch it. */
  sight: (first: number, last: number) => void;
  /** Scrolls to a row when it changes: `{ row }`. */
  goTo: { row: number } | null;
};

export function Grid(props: Props) {
  const { windows, columns, look, widths, mayEdit, active, selected, setActive } = props;
  const box = useRef<HTMLDivElement>(null);
  const [editing, setEditing] = useState<{ begun?: string } | null>(null);
  const id = useId();
  const total = windows.total ?? 0;
  const widthOf = (at: number) => widths[columns[at]?.key ?? ""] ?? usualWidth(columns[at]);
  const down = useVirtualizer({
    count: total,
    getScrollElement: () => box.current,
    estimateSize: () => HEIGHT,
    overscan: 10,
    scrollPaddingStart: HEIGHT,
  });
  const across = useVirtualizer({
    horizontal: true,
    count: columns.length,
    getScrollElement: () => box.current,
    estimateSize: widthOf,
    overscan: 3,
    paddingStart: NUMBER_WIDTH,
    scrollPaddingStart: NUMBER_WIDTH,
  });
  const layout = columns.map((one, at) => `${one.key}:${widthOf(at)}`).join("|");
  useEffect(() => across.measure(), [layout]);
  const lines = down.getVirtualItems();
  const items = across.getVirtualItems();
  const first = lines[0]?.index ?? 0;
  const last = lines.at(-1)?.index ?? 0;
  useEffect(() => {
    if (total) windows.setVisibleRange(first, last);
    props.sight(first, last);
  }, [windows, first, last, total]);
  useEffect(() => {
    if (props.goTo) down.scrollToIndex(props.goTo.row, { align: "end" });
  }, [props.goTo]);

  const go = (place: CellPosition) => {
    setActive(place);
    down.scrollToIndex(place.row);
    across.scrollToIndex(place.column);
  };
  const begin = (begun?: string) => {
    if (mayEdit && windows.row(active.row) && columns[active.column]) setEditing({ begun });
  };
  const close = (step: Step) => {
    setEditing(null);
    box.current?.focus({ preventScroll: true });
    go(cellAfterEdit(active, step, total, columns.length));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== box.current || !total) return;
    const column = columns[active.column];
    if (event.altKey && column && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      const wider = widthOf(active.column) + (event.key === "ArrowRight" ? 20 : -20);
      return props.resize(column.key, Math.min(WIDEST, Math.max(NARROWEST, wider)));
    }
    const place = nextCell(active, event, total, columns.length, Math.max(1, lines.length - 22));
    if (place) {
      event.preventDefault();
      return go(place);
    }
    const row = windows.row(active.row);
    if (event.key === "Enter" || event.key === "F2") {
      event.preventDefault();
      begin();
    } else if (event.key === " ") {
      event.preventDefault();
      if (row) props.setSelected(row, active.row, false);
    } else if (
      (event.key === "Delete" || event.key === "Backspace") && mayEdit && row && column
    ) {
      void props.keep(row, column, null).catch(() => {});
    } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      begin(event.key);
    }
  };
  const placeOf = (event: MouseEvent) => {
    const target = event.target as HTMLElement;
    const cell = target.closest<HTMLElement>("[data-column]");
    const row = target.closest<HTMLElement>("[data-row]");
    return { row: Number(row?.dataset.row ?? -1), cell, target };
  };
  const onClick = (event: MouseEvent) => {
    const { row, cell, target } = placeOf(event);
    const there = windows.row(row);
    if (target.closest("[data-number]")) {
      if (there) props.setSelected(there, row, event.shiftKey);
    } else if (cell && row >= 0 && !target.closest(".board-editor")) {
      setActive({ row, column: Number(cell.dataset.column) });
      box.current?.focus({ preventScroll: true });
    }
  };
  const onDoubleClick = (event: MouseEvent) => {
    const { cell, target } = placeOf(event);
    if (cell && !target.closest(".board-editor")) begin();
  };
  const clip = (event: ClipboardEvent, work: () => void) => {
    if (event.target !== box.current) return;
    event.preventDefault();
    work();
  };
  const idOf = (row: number, column: number) => `${id}r${row}c${column}`;
  const width = across.getTotalSize();
  const inSight = lines.some(({ index }) => index === active.row) &&
    items.some(({ index }) => index === active.column);
  return (
    <div
      ref={box}
      role="grid"
      className="board-grid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={total + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable
      aria-readonly={!mayEdit}
      aria-activedescendant={inSight ? idOf(active.row, active.column) : undefined}
      onKeyDown={onKeyDown}
      onClick={onClick}
      onDoubleClick={onDoubleClick}
      onCopy={(event) => clip(event, () => event.clipboardData.setData("text/plain", props.copy()))}
      onPaste={(event) =>
        clip(
          event,
          () => mayEdit && props.paste(event.clipboardData.getData("text/plain"), active),
        )}
    >
      <GridHead
        columns={columns}
        items={items}
        width={width}
        look={look}
        sort={props.sort}
        resize={props.resize}
      />
      <div
        role="rowgroup"
        className="board-grid-body"
        style={{ height: down.getTotalSize(), width, position: "relative" }}
      >
        {lines.map(({ index, start }) => {
          const row = windows.row(index);
          const here = index === active.row;
          const column = columns[active.column];
          return (
            <GridRow
              key={index}
              row={row}
              index={index}
              top={start}
              columns={columns}
              items={items}
              layout={`${layout}@${items[0]?.index}-${items.at(-1)?.index}`}
              active={here ? active.column : null}
              selected={row !== undefined && selected.has(row.row_id)}
              idOf={idOf}
              editor={here && editing && row && column
                ? (
                  <CellEditor
                    column={column}
                    value={row[column.key]}
                    begun={editing.begun}
                    keep={(value) => props.keep(row, column, value)}
                    close={close}
                  />
                )
                : null}
            />
          );
        })}
      </div>
    </div>
  );
}

function usualWidth(column: Column | undefined): number {
  if (column?.type === "number" || column?.type === "date") return 130;
  if (column?.type === "select") return 140;
  return column?.type === "richtext" ? 280 : 200;
}
