// Runs as a list of links, the newest first; live, with pagination.

import {
  Anchor,
  Box,
  Button,
  Card,
  Checkbox,
  Divider,
  Group,
  Stack,
  Text,
  VisuallyHidden,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { api } from "../../api/client";
import { QueryResult } from "../../kit/QueryResult";
import { byCursor } from "../../kit/paging";
import { Timestamp } from "../../kit/Timestamp";
import { useRunsRefresh } from "../../kit/useRunsRefresh";
import { Status } from "../../kit/Status";
import {
  capitalize,
  describeOutcome,
  escapeInvisible,
  formatDateTime,
  formatElapsed,
  formatUsd,
  humanize,
  runAt,
  runStatus,
} from "../../kit/format";
import { canReplay, describeOrigin, type Query, type RunSummary } from "./listQuery";
import { t } from "../../strings";

const A_PAGE = 30;

export type Choosing = { chosen: Set<string>; choose: (run: RunSummary, on: boolean) => void };
type LineProps = { run: RunSummary; named: boolean; choosing?: Choosing };

function What({ run, named }: LineProps) {
  const became = run.halted
    ? `held: ${run.halted}`
    : run.outcome
    ? describeOutcome(run.outcome)
    : run.reason
    ? humanize(run.reason)
    : "";
  return (
    <Stack gap={2} style={{ flex: "1 1 14rem", minWidth: 0 }}>
      <Anchor
        component={Link}
        to={`/runs/${run.id}`}
        data-row=""
        c="inherit"
        fw={600}
        size="sm"
        className="wrap-anywhere"
      >
        {named ? escapeInvisible(run.automation) : capitalize(became || humanize(run.status))}
        <VisuallyHidden>{t.runs.runOf(formatDateTime(run.created_at))}</VisuallyHidden>
      </Anchor>
      <Text size="xs" c="dimmed">
        {[named ? capitalize(became) : "", capitalize(describeOrigin(run))].filter(Boolean).join(
          " · ",
        )}
      </Text>
    </Stack>
  );
}

function Line({ run, named, choosing }: LineProps) {
  const took = run.started_at ? formatElapsed(run.started_at, run.finished_at) : "";
  return (
    <Group gap="md" px="md" py="sm" wrap="nowrap">
      {choosing
        ? (
          <Checkbox
            checked={choosing.chosen.has(run.id)}
            disabled={!canReplay(run)}
            onChange={(event) => choosing.choose(run, event.currentTarget.checked)}
            aria-label={t.runs.selectTheRunOf(
              escapeInvisible(run.automation),
              formatDateTime(run.created_at),
            )}
          />
        )
        : null}
      <Box w={{ base: 92, sm: 104 }} style={{ flex: "none" }}>
        <Status value={runStatus(run)} />
      </Box>
      <What run={run} named={named} />
      <Text size="xs" c="dimmed" className="numbers" visibleFrom="sm" w={150} ta="right">
        {[took, run.cost_usd ? formatUsd(run.cost_usd) : ""].filter(Boolean).join(" · ")}
      </Text>
      <Box style={{ flex: "none" }} w={96} ta="right">
        <Timestamp at={runAt(run)} size="xs" />
      </Box>
    </Group>
  );
}

type Props = {
  query: Query;
  named?: boolean;
  none: ReactNode;
  choosing?: Choosing;
  /** A fixed number of runs without pagination: a preview. */
  most?: number;
};

export function RunList({ query, named = false, none, choosing, most }: Props) {
  const pages = api.useInfiniteQuery(
    "get",
    "/api/v1/runs",
    { params: { query: { ...query, limit: most ?? A_PAGE } } },
    {
      ...byCursor,
      placeholderData: (before) => before,
    },
  );
  useRunsRefresh(["/api/v1/runs"], query.automation_id ?? undefined);
  return (
    <QueryResult of={pages} lines={5}>
      {({ pages: read }) => {
        const items = read.flatMap((one) => one.items);
        if (!items.length) return none;
        return (
          <>
            <Card withBorder radius="lg" p={0}>
              {items.map((run, at) => (
                <Fragment key={run.id}>
                  {at ? <Divider /> : null}
                  <Line run={run} named={named} choosing={choosing} />
                </Fragment>
              ))}
            </Card>
            {pages.hasNextPage && !most
              ? (
                <Group justify="center" mt="sm">
                  <Button
                    variant="default"
                    loading={pages.isFetchingNextPage}
                    onClick={() => void pages.fetchNextPage()}
                  >
                    {t.runs.showMore}
                  </Button>
                </Group>
              )
              : null}
          </>
        );
      }}
    </QueryResult>
  );
}
