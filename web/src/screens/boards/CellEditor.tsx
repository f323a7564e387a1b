// The editor of a cell, by column type, with the error below it; rejected input is kept.

import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { sentence } from "../../api/problem";
import { formatCell, parseCell } from "./cells";
import type { Column } from "./rows";

export type Step = "stay" | "down" | "right" | "left";

type Props = {
  column: Column;
  value: unknown;
  /** The typed character that opened the editor; none: edit the current value. */
  begun?: string;
  keep: (value: unknown) => Promise<unknown>;
  close: (step: Step) => void;
};

export function CellEditor({ column, value, begun, keep, close }: Props) {
  const [text, setText] = useState(begun ?? formatCell(value));
  const [problem, setProblem] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement & HTMLSelectElement & HTMLInputElement>(null);
  const over = useRef(false);
  useEffect(() => {
    field.current?.focus();
    if (begun === undefined) field.current?.select?.();
  }, [begun]);

  const done = async (step: Step, written = text) => {
    if (over.current) return;
    const read = parseCell(column, written, value);
    if ("problem" in read) return setProblem(read.problem);
    over.current = true;
    try {
      if (written !== formatCell(value)) await keep(read.value);
      close(step);
    } catch (refused) {
      over.current = false;
      setProblem(sentence(refused));
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      over.current = true;
      close("stay");
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void done("down");
    } else if (event.key === "Tab") {
      event.preventDefault();
      void done(event.shiftKey ? "left" : "right");
    }
  };
  const common = {
    ref: field,
    className: "board-editor",
    "aria-label": column.label,
    "aria-invalid": problem !== null,
    value: text,
    onKeyDown,
    onBlur: () => void done("stay"),
    onChange: (event: { currentTarget: { value: string } }) => {
      setText(event.currentTarget.value);
      setProblem(null);
    },
  };
  return (
    <>
      {column.type === "select"
        ? (
          <select
            {...common}
            onChange={(event) => {
              setText(event.currentTarget.value);
              void done("stay", event.currentTarget.value);
            }}
          >
            <option value="">—</option>
            {(column.options ?? []).map((one) => <option key={one} dir="auto">{one}</option>)}
          </select>
        )
        : column.type === "date" && /^(\d{4}-\d{2}-\d{2})?$/.test(text)
        ? <input {...common} type="date" />
        : (
          <textarea
            {...common}
            rows={1}
            inputMode={column.type === "number" ? "decimal" : "text"}
          />
        )}
      {problem ? <div className="board-editor-problem" role="alert">{problem}</div> : null}
    </>
  );
}
