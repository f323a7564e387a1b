// All automations of the workspace: search, sort, activate and pause.

import {
  Box,
  Button,
  Card,
  Divider,
  Group,
  ScrollArea,
  Table,
  Tabs,
  Text,
  VisuallyHidden,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { Fragment, useCallback, useRef } from "react";
import { api, type Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { byCursor } from "../../kit/paging";
import { PageHead } from "../../kit/PageHead";
import { useRunsRefresh } from "../../kit/useRunsRefresh";
import { isArchived, isNarrowed, parseQuery } from "./listQuery";
import { Filters } from "./Filters";
import { useListKeys } from "./useListKeys";
import { NoneArchived, NoneFound, NoneYet } from "./EmptyStates";
import { NarrowRow, Row } from "./Row";
import { t } from "../../strings";

type Summary = Schemas["AutomationSummary"];

const A_PAGE = 50;
const HEADS = [
  t.automations.automation,
  t.automations.state,
  t.automations.nextRun,
  t.automations.lastRun,
  t.automations.latestRuns,
  t.automations.thisMonth2,
  "",
];

function List({ items }: { items: Summary[] }) {
  return (
    <Card withBorder radius="lg" p={0}>
      <ScrollArea visibleFrom="md">
        <Table verticalSpacing="sm" horizontalSpacing="md" highlightOnHover>
          <Table.Thead>
            <Table.Tr>
              {HEADS.map((head) => (
                <Table.Th
                  key={head}
                  fz="xs"
                  c="dimmed"
                  ta={head === t.automations.thisMonth2 ? "right" : undefined}
                >
                  {head || <VisuallyHidden>{t.automations.actions}</VisuallyHidden>}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((one) => <Row key={one.id} automation={one} />)}
          </Table.Tbody>
        </Table>
      </ScrollArea>
      <Box hiddenFrom="md">
        {items.map((one, at) => (
          <Fragment key={one.id}>
            {at ? <Divider /> : null}
            <NarrowRow automation={one} />
          </Fragment>
        ))}
      </Box>
    </Card>
  );
}

export default function Automations() {
  const [values, change] = useUrlState();
  const box = useRef<HTMLInputElement>(null);
  const may = useHasRole("editor");
  const query = parseQuery(values);
  const pages = api.useInfiniteQuery(
    "get",
    "/api/v1/automations",
    { params: { query: { ...query, limit: A_PAGE } } },
    {
      ...byCursor,
      placeholderData: (before) => before,
    },
  );
  useRunsRefresh(["/api/v1/automations"]);
  useListKeys("data-row", useCallback(() => box.current, []));
  const clear = () =>
    change({ search: undefined, health: undefined, trigger: undefined, state: undefined });
  const none = isNarrowed(values)
    ? <NoneFound clear={clear} />
    : isArchived(values)
    ? <NoneArchived />
    : <NoneYet />;
  return (
    <>
      <PageHead
        title={t.automations.automations}
        right={
          <>
            <CopyAs
              operations={[{
                label: t.automations.listAutomations,
                operation: {
                  method: "GET",
                  path: `/api/v1/automations?${new URLSearchParams(
                    query as Record<string, string>,
                  )}`,
                  tool: "list_automations",
                  arguments: query.state ? { state: query.state } : {},
                },
              }]}
            />
            {may
              ? (
                <Button component={Link} to="/new" leftSection={<Plus size={16} />}>
                  {t.automations.newAutomation}
                </Button>
              )
              : null}
          </>
        }
      />
      <Tabs
        value={isArchived(values) ? "archived" : "here"}
        onChange={(tab) => change({ state: tab === "archived" ? "archived" : undefined })}
        mb="md"
      >
        <Tabs.List>
          <Tabs.Tab value="here">{t.automations.current}</Tabs.Tab>
          <Tabs.Tab value="archived">{t.automations.archived}</Tabs.Tab>
        </Tabs.List>
      </Tabs>
      <Filters values={values} change={change} box={box} />
      <QueryResult of={pages} lines={6}>
        {({ pages: read }) => {
          const items = read.flatMap((one) => one.items);
          if (!items.length) return none;
          return (
            <>
              <List items={items} />
              <Group justify="space-between" mt="sm">
                <Text size="xs" c="dimmed">
                  {t.automations.jAndKMoveEnter(
                    pages.hasNextPage
                      ? t.automations.theFirst(items.length)
                      : t.automations.inTotal(items.length),
                  )}
                </Text>
                {pages.hasNextPage
                  ? (
                    <Button
                      variant="default"
                      loading={pages.isFetchingNextPage}
                      onClick={() => void pages.fetchNextPage()}
                    >
                      {t.automations.showMore}
                    </Button>
                  )
                  : null}
              </Group>
            </>
          );
        }}
      </QueryResult>
    </>
  );
}
