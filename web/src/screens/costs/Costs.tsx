// The cost of models: by day, automation, model and caller, the caps, and the requests.

import { Box, Card, Group, SimpleGrid, Skeleton, Stack, Text } from "@mantine/core";
import { ChartColumn } from "lucide-react";
import { lazy, Suspense } from "react";
import { api } from "../../api/client";
import { importWhenReachable } from "../../api/lazyImport";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { formatUsd } from "../../kit/format";
import { ModelRequests } from "./ModelRequests";
import { Breakdown } from "./Breakdown";
import { Caps } from "./Caps";
import { RangePicker } from "./RangePicker";
import { everyDay, rangeIn, tokensOf, type Usage } from "./sums";
import { locale, t } from "../../strings";

const DayChart = lazy(importWhenReachable(() => import("./DayChart")));

export default function Costs() {
  const [address] = useUrlState();
  const { from, to } = rangeIn(address);
  const query = {
    from,
    to,
    ...(address.automation ? { automation_id: address.automation } : {}),
  };
  const usage = api.useQuery("get", "/api/v1/usage", { params: { query } });
  const path = `/api/v1/usage?${new URLSearchParams(query)}`;
  return (
    <>
      <PageHead
        title={t.costs.costs}
        sub={t.costs.modelRequestsAndTheirCost}
        right={
          <CopyAs
            operations={[
              {
                label: t.costs.sumUpCosts,
                operation: {
                  method: "GET",
                  path,
                  tool: "get_usage",
                  arguments: query,
                },
              },
              {
                label: t.costs.listModelRequests,
                operation: {
                  method: "GET",
                  path: `/api/v1/usage/calls?from=${from}&to=${to}`,
                },
              },
            ]}
          />
        }
      />
      <Stack>
        <RangePicker />
        <QueryResult of={usage} lines={6}>
          {(found) => <Sums usage={found} />}
        </QueryResult>
      </Stack>
    </>
  );
}

function Sums({ usage }: { usage: Usage }) {
  const { total } = usage;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Figure label={t.costs.spent2} value={formatUsd(total.cost_usd)} />
        <Figure label={t.costs.requests} value={total.asks.toLocaleString(locale)} />
        <Figure label={t.costs.tokens} value={tokensOf(total).toLocaleString(locale)} />
        <Figure
          label={t.costs.reportedByScripts}
          value={formatUsd(total.reported_usd)}
          text={t.costs.forTheirOwnModels}
        />
      </SimpleGrid>
      <Caps />
      {total.asks
        ? <Spent usage={usage} />
        : (
          <Empty icon={ChartColumn} title={t.costs.noModelRequestsInThis}>
            {t.costs.stepsWithoutAModelCost}
          </Empty>
        )}
    </Stack>
  );
}

function Spent({ usage }: { usage: Usage }) {
  const bars = everyDay(usage.days, usage.from, usage.to);
  return (
    <>
      {bars.length > 1
        ? (
          <Card withBorder radius="lg" p="lg">
            <Group justify="space-between" mb="md">
              <Text fw={600}>{t.costs.costPerDay}</Text>
              <Text size="sm" c="dimmed">{t.counts.days(bars.length)}</Text>
            </Group>
            <Suspense fallback={<Skeleton height={220} radius="md" />}>
              <Box
                role="img"
                aria-label={t.costs.costPerDayFromTo(usage.from, usage.to)}
              >
                <DayChart bars={bars} />
              </Box>
            </Suspense>
          </Card>
        )
        : null}
      <Breakdown usage={usage} />
      <ModelRequests />
    </>
  );
}

function Figure({ label, value, text }: { label: string; value: string; text?: string }) {
  return (
    <Card withBorder radius="lg" p="md">
      <Text size="sm" c="dimmed">{label}</Text>
      <Text fz={26} fw={650} className="numbers">{value}</Text>
      {text ? <Text size="xs" c="dimmed">{text}</Text> : null}
    </Card>
  );
}
