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
import { formatCount, formatUsd } from "../../kit/format";
import { ModelRequests } from "./ModelRequests";
import { Breakdown } from "./Breakdown";
import { Caps } from "./Caps";
import { RangePicker } from "./RangePicker";
import { everyDay, rangeIn, tokensOf, type Usage } from "./sums";

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
        title="Costs"
        sub="What models were asked and what it came to. A day is a day in UTC."
        right={
          <CopyAs
            operations={[
              {
                label: "Add up the costs",
                operation: {
                  method: "GET",
                  path,
                  tool: "get_usage",
                  arguments: query,
                },
              },
              {
                label: "List single asks",
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
        <Figure label="Spent" value={formatUsd(total.cost_usd)} />
        <Figure label="Asks" value={total.asks.toLocaleString("en")} />
        <Figure label="Tokens" value={tokensOf(total).toLocaleString("en")} />
        <Figure
          label="Said by scripts"
          value={formatUsd(total.reported_usd)}
          text="of models of their own"
        />
      </SimpleGrid>
      <Caps />
      {total.asks
        ? <Spent usage={usage} />
        : (
          <Empty icon={ChartColumn} title="No model was asked in these days">
            Steps that run without a model cost nothing. What an automation will cost is said before
            it is set going, and every ask of a model is listed here.
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
              <Text fw={600}>Cost a day</Text>
              <Text size="sm" c="dimmed">{formatCount(bars.length, "day")}</Text>
            </Group>
            <Suspense fallback={<Skeleton height={220} radius="md" />}>
              <Box
                role="img"
                aria-label={`Cost a day from ${usage.from} to ${usage.to}; the same numbers stand in the table of days.`}
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
