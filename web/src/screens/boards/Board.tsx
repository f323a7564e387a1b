// One board: rows, charts, links, and everything else it holds.

import { Alert, Badge, Button, Group, SegmentedControl, Tabs } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { Archive } from "lucide-react";
import { api, client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { PageHead } from "../../kit/PageHead";
import { Charts } from "./Charts";
import { Links } from "./Links";
import { Parts } from "./Parts";
import type { BoardShown } from "./rows";
import { Setup } from "./Setup";
import { Table } from "./Table";
import { Versions } from "./Versions";
import { locale, t } from "../../strings";

const VIEWS = {
  rows: t.boards.rows,
  charts: t.boards.charts,
  links: t.boards.links,
  parts: t.boards.formsAndDashboard,
  setup: t.boards.columns,
  versions: t.boards.versions,
};

export default function Board() {
  const { boardId } = useParams({ strict: false }) as { boardId: string };
  const board = api.useQuery("get", "/api/v1/boards/{board_id}", {
    params: { path: { board_id: boardId }, query: { limit: 1 } },
  });
  if (!board.data) {
    return (
      <>
        <PageHead title={t.boards.board} back={{ to: "/boards", label: t.boards.boards }} />
        <QueryResult of={board} lines={6}>{() => null}</QueryResult>
      </>
    );
  }
  return <Shown board={board.data} />;
}

function Shown({ board }: { board: BoardShown }) {
  const [values, change] = useUrlState();
  const may = useHasRole("editor");
  const mayEdit = may && !board.archived;
  const view = values.view && Object.hasOwn(VIEWS, values.view) ? values.view : "rows";
  return (
    <>
      <PageHead
        title={board.name}
        back={{ to: "/boards", label: t.boards.boards }}
        sub={board.description || undefined}
        beside={board.archived
          ? <Badge color="gray" variant="light" tt="none">{t.boards.archived}</Badge>
          : null}
        right={<CopyAs operations={operations(board.id)} />}
      />
      {board.archived ? <Archived boardId={board.id} /> : null}
      <Tabs
        value={view}
        onChange={(next) => change({ view: next === "rows" ? undefined : next ?? undefined })}
        keepMounted={false}
      >
        <Tabs.List
          mb="md"
          style={{ flexWrap: "nowrap", overflowX: "auto", overflowY: "hidden" }}
        >
          {Object.entries(VIEWS).map(([name, label]) => (
            <Tabs.Tab key={name} value={name} style={{ flex: "none" }}>
              {label}
              {name === "links" && board.links.length ? ` (${board.links.length})` : ""}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="rows">
          <Rows board={board} mayEdit={mayEdit} />
        </Tabs.Panel>
        <Tabs.Panel value="charts">
          <Charts board={board} />
        </Tabs.Panel>
        <Tabs.Panel value="links">
          <Links board={board} mayEdit={mayEdit} />
        </Tabs.Panel>
        <Tabs.Panel value="parts">
          <Parts board={board} mayEdit={mayEdit} />
        </Tabs.Panel>
        <Tabs.Panel value="setup">
          <Setup board={board} mayEdit={mayEdit} />
        </Tabs.Panel>
        <Tabs.Panel value="versions">
          <Versions boardId={board.id} mayEdit={mayEdit} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

function Rows({ board, mayEdit }: { board: BoardShown; mayEdit: boolean }) {
  const [values, change] = useUrlState();
  const datasets = board.schema.datasets;
  const dataset = datasets.find(({ name }) => name === (values.dataset ?? "default")) ??
    datasets[0];
  if (!dataset) return null;
  const filled = board.links.some(({ recipes }) =>
    recipes.some(({ dataset_name }) => dataset_name === dataset.name)
  );
  return (
    <>
      {datasets.length > 1
        ? (
          <Group mb="sm" style={{ overflowX: "auto" }}>
            <SegmentedControl
              aria-label={t.boards.dataset}
              value={dataset.name}
              onChange={(name) =>
                change({
                  dataset: name === "default" ? undefined : name,
                  sort: undefined,
                  order: undefined,
                  f: undefined,
                  q: undefined,
                })}
              data={datasets.map(({ name }) => ({
                value: name,
                label: `${name} · ${board.data.datasets[name]?.total.toLocaleString(locale) ?? 0}`,
              }))}
            />
          </Group>
        )
        : null}
      {filled
        ? (
          <Alert variant="light" color="gray" mb="sm" py="xs">
            {t.boards.anExternalSourceFillsThis}
          </Alert>
        )
        : null}
      <Table
        key={dataset.name}
        boardId={board.id}
        dataset={dataset}
        mayEdit={mayEdit}
        filled={filled}
      />
    </>
  );
}

function Archived({ boardId }: { boardId: string }) {
  const { busy, act } = useAction();
  const may = useHasRole("editor");
  const restore = async () => {
    await client.PATCH("/api/v1/boards/{board_id}", {
      params: { path: { board_id: boardId } },
      body: { archived: false },
    });
    await refresh("/api/v1/boards");
  };
  return (
    <Alert variant="light" color="yellow" icon={<Archive size={16} />} mb="md">
      <Group justify="space-between">
        {t.boards.thisBoardIsArchivedAnd}
        {may
          ? (
            <Button
              size="compact-sm"
              variant="default"
              loading={busy}
              onClick={() => void act(restore, t.boards.theBoardIsRestored)}
            >
              {t.boards.restore}
            </Button>
          )
          : null}
      </Group>
    </Alert>
  );
}

function operations(id: string) {
  const path = `/api/v1/boards/${id}/rows`;
  const rows = [{ name: "Ada" }];
  return [
    {
      label: t.boards.readRows,
      operation: {
        method: "GET" as const,
        path: `${path}?limit=100`,
        tool: "get_board",
        arguments: { board_id: id, limit: 100 },
      },
    },
    {
      label: t.boards.appendRows,
      operation: {
        method: "POST" as const,
        path,
        body: { rows },
        tool: "append_board_rows",
        arguments: { board_id: id, rows },
      },
    },
  ];
}
