// The table of one dataset: search, sort, edit, copy and paste.

import { Group, Stack, Text } from "@mantine/core";
import { useDebouncedValue, useLocalStorage } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useEffect, useMemo, useRef, useState } from "react";
import { client, refresh } from "../../api/client";
import { notifyProblem } from "../../kit/useAction";
import { useUrlState } from "../../kit/urlState";
import { ProblemNote, SlowNote } from "../../kit/QueryResult";
import { formatCell } from "./cells";
import { formatTabbed, parseCells } from "./csv";
import { Grid } from "./Grid";
import type { CellPosition } from "./navigation";
import { NoRows } from "./NoRows";
import { applyPaste } from "./paste";
import { RowDetails } from "./RowDetails";
import {
  type Column,
  columnsOf,
  type Dataset,
  filtersFrom,
  isLooking,
  type Row,
  type RowView,
} from "./rows";
import { Toolbar } from "./Toolbar";
import { Undo } from "./Undo";
import { useRows } from "./useRows";
import { t } from "../../strings";

type Props = { boardId: string; dataset: Dataset; mayEdit: boolean; filled: boolean };

const ROWS = "/api/v1/boards/{board_id}/rows" as const;

export function Table({ boardId, dataset, mayEdit, filled }: Props) {
  const [values, change] = useUrlState();
  const [search] = useDebouncedValue(values.q, 250);
  const look: RowView = {
    search,
    sort: values.sort,
    descending: values.order === "down",
    filters: filtersFrom(values.f),
  };
  const windows = useRows(boardId, dataset.name, look);
  const free = windows.first().flatMap((row) => Object.keys(row)).join();
  const columns = useMemo(() => columnsOf(dataset, windows.first()), [dataset, free]);
  const [active, setActive] = useState<CellPosition>({ row: 0, column: 0 });
  const [selected, setSelected] = useState<ReadonlyMap<string, number>>(new Map());
  const [details, setDetails] = useState(false);
  const [goTo, setGoTo] = useState<{ row: number } | null>(null);
  const [widths, setWidths] = useLocalStorage<Record<string, number>>({
    key: `board-widths:${boardId}:${dataset.name}`,
    defaultValue: {},
  });
  const sight = useRef<[number, number]>([0, 60]);
  useEffect(() => {
    setActive({ row: 0, column: 0 });
    setSelected(new Map());
  }, [windows]);

  const where = { params: { path: { board_id: boardId } } };
  const reload = async () => {
    await windows.reload(...sight.current);
    void refresh("/api/v1/boards");
  };
  const keep = async (row: Row, column: Column, value: unknown) => {
    const changed = { row_id: row.row_id, [column.key]: value } as { row_id: string };
    await client.PATCH(ROWS, { ...where, body: { dataset: dataset.name, rows: [changed] } });
    windows.patch(row.row_id, { [column.key]: value, _updated_at: new Date().toISOString() });
  };
  const select = (row: Row, index: number, range: boolean) => {
    const next = new Map(selected);
    const last = range ? [...selected.values()].at(-1) : undefined;
    if (last !== undefined) {
      for (let at = Math.min(last, index); at <= Math.max(last, index); at++) {
        const between = windows.row(at);
        if (between) next.set(between.row_id, at);
      }
    } else if (!next.delete(row.row_id)) next.set(row.row_id, index);
    setSelected(next);
  };
  const remove = async () => {
    const row_ids = [...selected.keys()];
    const body = { dataset: dataset.name, row_ids };
    await client.POST("/api/v1/boards/{board_id}/rows/delete", { ...where, body });
    setSelected(new Map());
    await reload();
    const id = notifications.show({
      color: "teal",
      autoClose: 12_000,
      message: (
        <Undo
          message={t.boards.rowDeleted(row_ids.length)}
          undo={async () => {
            await client.POST("/api/v1/boards/{board_id}/rows/restore", {
              ...where,
              body,
            });
            notifications.hide(id);
            await reload();
          }}
        />
      ),
    });
  };
  const add = async (rows: Record<string, unknown>[]) => {
    const body = { dataset: dataset.name, rows: rows as never[] };
    const { data } = await client.POST(ROWS, { ...where, body });
    await reload();
    if (!isLooking(look) && data) setGoTo({ row: data.total - 1 });
    return data;
  };
  const paste = async (text: string, place: CellPosition) => {
    const answer = applyPaste(
      parseCells(text),
      place,
      columns,
      (at) => windows.row(at),
      windows.total ?? 0,
    );
    if ("problem" in answer) return notifyProblem(new Error(answer.problem));
    try {
      if (answer.changed.length) {
        const body = { dataset: dataset.name, rows: answer.changed };
        await client.PATCH(ROWS, { ...where, body });
      }
      if (answer.added.length) await add(answer.added);
      else await reload();
    } catch (problem) {
      notifyProblem(problem);
    }
  };
  const copy = () => {
    const chosen = [...selected.values()].sort((a, b) => a - b).map((at) => windows.row(at))
      .filter((row) => row !== undefined);
    const cell = windows.row(active.row)?.[columns[active.column]?.key ?? ""];
    return chosen.length ? formatTabbed(columns, chosen) : formatCell(cell);
  };
  const sort = (key: string) => {
    const again = look.sort === key;
    if (again && look.descending) change({ sort: undefined, order: undefined });
    else change({ sort: key, order: again ? "down" : undefined });
  };

  const total = windows.total;
  const empty = total === 0 && !isLooking(look);
  return (
    <Stack gap="sm">
      <Toolbar
        boardId={boardId}
        dataset={dataset}
        columns={columns}
        look={look}
        mayEdit={mayEdit}
        selected={selected.size}
        add={add}
        remove={remove}
        reload={reload}
        details={() => setDetails(true)}
      />
      {windows.problem
        ? <ProblemNote problem={windows.problem} again={() => void reload()} />
        : null}
      {empty ? <NoRows mayEdit={mayEdit} filled={filled} /> : (
        <Grid
          label={t.boards.rowsOf(dataset.name)}
          windows={windows}
          columns={columns}
          look={look}
          widths={widths}
          mayEdit={mayEdit}
          active={active}
          selected={new Set(selected.keys())}
          setActive={setActive}
          setSelected={select}
          sort={sort}
          resize={(key, width) => setWidths((before) => ({ ...before, [key]: width }))}
          keep={keep}
          paste={(text, place) => void paste(text, place)}
          copy={copy}
          sight={(first, last) => {
            sight.current = [first, last];
          }}
          goTo={goTo}
        />
      )}
      <Group justify="space-between" mih={22}>
        <Text size="sm" c="dimmed" className="numbers" role="status">
          {total === null
            ? t.boards.loadingRows
            : isLooking(look)
            ? total === 0
              ? t.boards.noMatchingRowsChangeThe
              : t.boards.moreThanRowFound(windows.more, total)
            : t.counts.rows(total)}
          {selected.size ? t.boards.selected(selected.size) : ""}
        </Text>
        {total === null && !windows.problem
          ? <SlowNote key={JSON.stringify(look)} />
          : <Text size="sm" c="dimmed" visibleFrom="sm">{t.boards.enterEditsSpaceSelectsCtrl}
          </Text>}
      </Group>
      <RowDetails
        row={details ? windows.row(active.row) : undefined}
        columns={columns}
        close={() => setDetails(false)}
      />
    </Stack>
  );
}
