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
    <Card withBorder radius="lg" p="lg" component="section" aria-label="Single asks">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">Single asks</Title>
        <Text size="sm" c="dimmed">
          Nothing of what was asked or answered is kept here.
        </Text>
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
            Load more
          </Button>
        )
        : null}
    </Card>
  );
}

function List({ asks }: { asks: ModelRequest[] }) {
  if (!asks.length) return <Text size="sm" c="dimmed">No ask fits what was chosen above.</Text>;
  return (
    <Table.ScrollContainer minWidth={640} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Automation</Table.Th>
            <Table.Th>Step</Table.Th>
            <Table.Th>Model</Table.Th>
            <Table.Th ta="right">Tokens in, out</Table.Th>
            <Table.Th ta="right">Took</Table.Th>
            <Table.Th ta="right">Cost</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{asks.map((one) => <RequestLine key={one.id} ask={one} />)}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function RequestLine({ ask }: { ask: ModelRequest }) {
  const name = ask.automation ?? (ask.automation_id ? "gone" : "—");
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
        {ask.input_tokens.toLocaleString("en")}, {ask.output_tokens.toLocaleString("en")}
      </Table.Td>
      <Table.Td ta="right" className="numbers">{formatDuration(ask.ms / 1000)}</Table.Td>
      <Table.Td ta="right" className="numbers">{formatUsd(ask.cost_usd)}</Table.Td>
    </Table.Tr>
  );
}
