// MCP servers whose tools are capabilities, pinned to the version that was consented to.

import { Box, Button, Card, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Plus } from "lucide-react";
import { type Answer, api } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { ProblemNote } from "../../kit/QueryResult";
import { Status } from "../../kit/Status";
import { ConnectServer } from "./ConnectServer";
import { ServerDrawer } from "./ServerDrawer";
import { t } from "../../strings";

export type Server = Answer<"list_connections">["connections"][number];

const HEALTH = {
  ok: t.integrations.working,
  failing: t.integrations.failing,
  sign_in: t.integrations.needsSignIn,
  unknown: t.integrations.notUsedYet,
};
const STATUS = { ok: "ok", failing: "failed", sign_in: "waiting", unknown: "quiet" };

export function Servers() {
  const may = useHasRole("admin");
  const servers = api.useQuery("get", "/api/v1/connections");
  const refusal: unknown = servers.error;
  const [{ server }, change] = useUrlState();
  const [open, { open: show, close }] = useDisclosure(false);
  return (
    <Box component="section" mt="xl" aria-label={t.integrations.mcpServers}>
      <Group justify="space-between" mb={4}>
        <Text component="h2" fw={650}>{t.integrations.mcpServers}</Text>
        {may
          ? (
            <Button
              variant="default"
              size="xs"
              leftSection={<Plus size={14} />}
              onClick={show}
            >
              {t.integrations.connectAServer}
            </Button>
          )
          : null}
      </Group>
      <Text size="sm" c="dimmed" mb="sm" maw={640}>{t.integrations.theToolsOfAnMcp}</Text>
      {refusal ? <ProblemNote problem={refusal} /> : null}
      {servers.data?.connections.length
        ? (
          <Card withBorder radius="lg" p={0}>
            {servers.data.connections.map((one, at) => (
              <UnstyledButton
                key={one.id}
                className="row-link"
                w="100%"
                px="md"
                py="sm"
                style={at ? { borderTop: "1px solid var(--line)" } : undefined}
                onClick={() => change({ server: one.id })}
              >
                <Group justify="space-between">
                  <Stack gap={2}>
                    <Text fw={600}>{one.alias}</Text>
                    <Text size="sm" c="dimmed" className="wrap-anywhere">
                      {one.server_url ?? t.integrations.aProgramOnTheServer}
                    </Text>
                  </Stack>
                  <Group gap="xs">
                    <Text size="sm" c="dimmed">
                      {t.integrations.toolAgreed(one.tools.agreed)}
                    </Text>
                    {one.tools.waiting
                      ? (
                        <Status
                          value="waiting"
                          label={t.integrations.toReview(one.tools.waiting)}
                        />
                      )
                      : null}
                    <Status
                      value={STATUS[one.health]}
                      label={HEALTH[one.health]}
                    />
                  </Group>
                </Group>
              </UnstyledButton>
            ))}
          </Card>
        )
        : <Text size="sm" c="dimmed">{t.integrations.noServersConnected}</Text>}
      <ConnectServer opened={open} onClose={close} onMade={(id) => change({ server: id })} />
      <ServerDrawer id={server} onClose={() => change({ server: undefined })} />
    </Box>
  );
}
