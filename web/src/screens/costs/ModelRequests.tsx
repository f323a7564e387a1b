// The individual model requests behind the sums, the newest first.

import { Anchor, Button, Card, Group, Table, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { client, type Schemas } from "../../api/client";
import { useSession } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { Timestamp } from "../../kit/Timestamp";
import { formatDuration, formatUsd } from "../../kit/format";
import { rangeIn } from "./sums";
import { locale, t } from "../../strings";

type ModelRequest = Schemas["UsageCall"];
const PAGE = 25;

export function ModelRequests() {
  const [address] = useUrlState();
  const { workspace } = useSession();
  const query = {
    ...rangeIn(address),
    automation_id: address.automation,
    model: address.model,
    caller: address.caller,
  };
  const asks = useInfiniteQuery({
    queryKey: ["get", "/api/v1/usage/calls", workspace.id, query],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const { data } = await client.GET("/api/v1/usage/calls", {
        params: { query: { ...query, limit: PAGE, cursor: pageParam } },
      });
      return data!;
    },
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const shown = asks.data?.pages.flatMap((page) => page.items);
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.costs.modelRequests}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">{t.costs.modelRequests}</Title>
        <Text size="sm" c="dimmed">{t.costs.promptsAndResponsesAreNot}</Text>
      </Group>
      <QueryResult of={{ ...asks, data: shown } as never}>
        {(found: ModelRequest[]) => <List asks={found} />}
      </QueryResult>
      {asks.hasNextPage
        ? (
          <Button
            mt="sm"
            variant="default"
            loading={asks.isFetchingNextPage}
            onClick={() => void asks.fetchNextPage()}
          >
            {t.costs.loadMore}
          </Button>
        )
        : null}
    </Card>
  );
}

function List({ asks }: { asks: ModelRequest[] }) {
  if (!asks.length) return <Text size="sm" c="dimmed">{t.costs.noMatchingRequests}</Text>;
  return (
    <Table.ScrollContainer minWidth={640} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.costs.when}</Table.Th>
            <Table.Th>{t.costs.automation}</Table.Th>
            <Table.Th>{t.costs.step}</Table.Th>
            <Table.Th>{t.costs.model}</Table.Th>
            <Table.Th ta="right">{t.costs.tokensInOut}</Table.Th>
            <Table.Th ta="right">{t.costs.duration}</Table.Th>
            <Table.Th ta="right">{t.costs.cost}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{asks.map((one) => <RequestLine key={one.id} ask={one} />)}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function RequestLine({ ask }: { ask: ModelRequest }) {
  const name = ask.automation ?? (ask.automation_id ? t.costs.deleted : "—");
  return (
    <Table.Tr>
      <Table.Td>
        <Timestamp at={ask.at} />
      </Table.Td>
      <Table.Td className="wrap-anywhere">
        {ask.run_id
          ? <Anchor component={Link} to={`/runs/${ask.run_id}`} size="sm">{name}</Anchor>
          : name}
      </Table.Td>
      <Table.Td>{ask.step || ask.caller}</Table.Td>
      <Table.Td className="wrap-anywhere">{ask.model}</Table.Td>
      <Table.Td ta="right" className="numbers">
        {ask.input_tokens.toLocaleString(locale)}, {ask.output_tokens.toLocaleString(locale)}
      </Table.Td>
      <Table.Td ta="right" className="numbers">{formatDuration(ask.ms / 1000)}</Table.Td>
      <Table.Td ta="right" className="numbers">{formatUsd(ask.cost_usd)}</Table.Td>
    </Table.Tr>
  );
}
