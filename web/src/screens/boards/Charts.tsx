// A chart of a dataset: grouping, aggregate and type. All options are kept in the URL, so that a
// chart can be shared.

import { Card, Group, NativeSelect, SegmentedControl, Stack, Text } from "@mantine/core";
import { ChartColumn } from "lucide-react";
import { lazy, Suspense } from "react";
import { api } from "../../api/client";
import { importWhenReachable } from "../../api/lazyImport";
import { useUrlState } from "../../kit/urlState";
import { QueryResult, SlowNote } from "../../kit/QueryResult";
import { Empty } from "../../kit/Empty";
import { type BoardShown, type Column, columnsOf, type Row } from "./rows";
import { t } from "../../strings";

const Plot = lazy(importWhenReachable(() => import("./Plot")));

export type Kind = "bar" | "line" | "area";
const HOW = {
  count: t.boards.numberOfRows,
  sum: t.boards.sum,
  average: t.boards.average,
  smallest: t.boards.minimum,
  largest: t.boards.maximum,
};
type How = keyof typeof HOW;
const PER = { day: t.boards.perDay, month: t.boards.perMonth, year: t.boards.perYear };
type Per = keyof typeof PER;
const MOST = 60;

export function Charts({ board }: { board: BoardShown }) {
  const [values, change] = useUrlState();
  const datasets = board.schema.datasets;
  const dataset = datasets.find(({ name }) => name === (values.dataset ?? "default")) ??
    datasets[0];
  const some = (board.data.datasets[dataset?.name ?? ""]?.rows ?? []) as unknown as Row[];
  const columns = columnsOf(dataset, some);
  if (!dataset || !columns.length) {
    return (
      <Empty icon={ChartColumn} title={t.boards.noDataToChart}>
        {t.boards.aChartNeedsADataset}
      </Empty>
    );
  }
  const x = columns.find(({ key }) => key === values.x) ?? usualX(columns);
  const numbers = columns.filter(({ type, free }) => type === "number" || free);
  const y = numbers.find(({ key }) => key === values.y) ?? numbers[0];
  const how: How = values.how && Object.hasOwn(HOW, values.how) && y ? values.how as How : "count";
  const per: Per | undefined = x.type === "date"
    ? (values.per && Object.hasOwn(PER, values.per) ? values.per as Per : "month")
    : undefined;
  const kind: Kind = values.kind === "line" || values.kind === "area" ? values.kind : "bar";
  return (
    <Stack gap="md">
      <Group gap="sm" align="flex-end">
        {datasets.length > 1
          ? (
            <NativeSelect
              label={t.boards.dataset}
              value={dataset.name}
              data={datasets.map(({ name }) => name)}
              onChange={({ currentTarget }) =>
                change({
                  dataset: currentTarget.value,
                  x: undefined,
                  y: undefined,
                })}
            />
          )
          : null}
        <NativeSelect
          label={t.boards.groupBy}
          value={x.key}
          data={columns.map(({ key, label }) => ({ value: key, label }))}
          onChange={({ currentTarget }) => change({ x: currentTarget.value })}
        />
        {per
          ? (
            <NativeSelect
              label={t.boards.time}
              value={per}
              data={Object.entries(PER).map(([value, label]) => ({ value, label }))}
              onChange={({ currentTarget }) => change({ per: currentTarget.value })}
            />
          )
          : null}
        <NativeSelect
          label={t.boards.show}
          value={how}
          data={Object.entries(HOW).filter(([one]) => y || one === "count")
            .map(([value, label]) => ({ value, label }))}
          onChange={({ currentTarget }) => change({ how: currentTarget.value })}
        />
        {how !== "count" && y
          ? (
            <NativeSelect
              label={t.boards.of}
              value={y.key}
              data={numbers.map(({ key, label }) => ({ value: key, label }))}
              onChange={({ currentTarget }) => change({ y: currentTarget.value })}
            />
          )
          : null}
        <SegmentedControl
          aria-label={t.boards.chartType}
          value={kind}
          onChange={(next) => change({ kind: next })}
          data={[{ value: "bar", label: t.boards.bars }, { value: "line", label: t.boards.line }, {
            value: "area",
            label: t.boards.area,
          }]}
        />
      </Group>
      <DrawnChart
        boardId={board.id}
        dataset={dataset.name}
        x={x}
        y={how === "count" ? undefined : y}
        how={how}
        per={per}
        kind={kind}
      />
    </Stack>
  );
}

function usualX(columns: Column[]): Column {
  return columns.find(({ type }) => type === "select") ??
    columns.find(({ type }) => type === "date") ?? columns[0]!;
}

type DrawnProps = {
  boardId: string;
  dataset: string;
  x: Column;
  y?: Column;
  how: How;
  per?: Per;
  kind: Kind;
};

function DrawnChart({ boardId, dataset, x, y, how, per, kind }: DrawnProps) {
  // Values without a natural order are sorted by size.
  const order = x.type === "date" || x.type === "number" ? "value" as const : "number" as const;
  const summary = api.useQuery("get", "/api/v1/boards/{board_id}/summary", {
    params: {
      path: { board_id: boardId },
      query: {
        dataset,
        by: x.key,
        how,
        order,
        limit: MOST,
        ...(per ? { per } : {}),
        ...(y ? { of: y.key } : {}),
      },
    },
  });
  const title = t.boards.by(HOW[how], y ? t.boards.of2(y.label) : "", x.label);
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={title}>
      <Text fw={600} mb="md">{title}</Text>
      <QueryResult of={summary} lines={5}>
        {({ groups, of }) =>
          groups.length
            ? (
              <>
                <Suspense fallback={<SlowNote text={t.boards.loadingTheChart} />}>
                  <Plot
                    kind={kind}
                    name={HOW[how]}
                    points={groups.map(({ value, number }) => ({
                      x: value ?? "nothing",
                      y: number ?? 0,
                    }))}
                  />
                </Suspense>
                {of > groups.length
                  ? (
                    <Text size="sm" c="dimmed" mt="sm">
                      {t.boards.theLargestOfGroup(order === "number", groups.length, of)}
                    </Text>
                  )
                  : null}
              </>
            )
            : <Text c="dimmed">{t.boards.noRowsYet}</Text>}
      </QueryResult>
    </Card>
  );
}
