// All integrations and the health of their connections, and MCP servers below.

import { Anchor, Box, Card, Group, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { api } from "../../api/client";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Timestamp } from "../../kit/Timestamp";
import { PageHead } from "../../kit/PageHead";
import { Status } from "../../kit/Status";
import { Servers } from "./Servers";
import { abilities, describeHealth, groupByState, type Integration, stateOf } from "./states";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

export default function Integrations() {
  const integrations = api.useQuery("get", "/api/v1/integrations");
  const [{ search = "" }, change] = useUrlState();
  return (
    <>
      <PageHead
        title={t.integrations.integrations}
        sub={t.integrations.externalAccountsEachWithYour}
        right={
          <CopyAs
            operations={[{
              label: t.integrations.listIntegrations,
              operation: {
                method: "GET",
                path: "/api/v1/integrations",
                tool: "list_integrations",
              },
            }]}
          />
        }
      />
      <TextInput
        mb="md"
        maw={360}
        leftSection={<Search size={15} aria-hidden />}
        placeholder={t.integrations.searchIntegrations}
        aria-label={t.integrations.searchIntegrations}
        value={search}
        onChange={(event) => change({ search: event.currentTarget.value })}
      />
      <QueryResult of={integrations} lines={6}>
        {({ integrations: all }) => {
          const found = groupByState(all, search);
          return (
            <Stack gap="xl">
              {found.length
                ? null
                : <Text c="dimmed">{t.integrations.noMatchingIntegrations}</Text>}
              {found.map(({ label, entries }) => (
                <Box key={label} component="section" aria-label={label}>
                  <Text component="h2" fw={650} mb="sm">
                    {label} <Text span c="dimmed" size="sm">{entries.length}</Text>
                  </Text>
                  <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
                    {entries.map((one) => <Entry key={one.name} one={one} />)}
                  </SimpleGrid>
                </Box>
              ))}
            </Stack>
          );
        }}
      </QueryResult>
      <Servers />
    </>
  );
}

function Entry({ one }: { one: Integration }) {
  const { label: text, status } = stateOf(one);
  return (
    <Card withBorder radius="lg" p="md">
      <Stack gap={6} h="100%">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Anchor
            component={Link}
            to="/integrations/$source"
            params={{ source: one.name } as never}
            fw={650}
          >
            {escapeInvisible(one.label)}
          </Anchor>
          <Status value={status} label={text} />
        </Group>
        <Text size="sm" c="dimmed" lineClamp={2} flex={1}>{one.description}</Text>
        <Text size="xs" c="dimmed" component="div">
          {[one.account, abilities(one), describeHealth(one)].filter(Boolean).join(" · ")}
          {one.connection?.last_ok_at
            ? (
              <>
                {" "}
                {t.integrations.lastSuccessful(
                  <Timestamp at={one.connection.last_ok_at} size="xs" />,
                )}
              </>
            )
            : null}
        </Text>
      </Stack>
    </Card>
  );
}
