// MCP servers whose tools are capabilities, pinned to the version that was consented to.

import { Box, Button, Card, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Plus } from "lucide-react";
import { type Answer, api } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { ProblemNote } from "../../kit/QueryResult";
import { Status } from "../../kit/Status";
import { formatCount } from "../../kit/format";
import { ConnectServer } from "./ConnectServer";
import { ServerDrawer } from "./ServerDrawer";

export type Server = Answer<"list_connections">["connections"][number];

const HEALTH = {
  ok: "works",
  failing: "fails at the moment",
  sign_in: "waits for a sign-in",
  unknown: "not used yet",
};
const STATUS = { ok: "ok", failing: "failed", sign_in: "waiting", unknown: "quiet" };

export function Servers() {
  const may = useHasRole("admin");
  const servers = api.useQuery("get", "/api/v1/connections");
  const refusal: unknown = servers.error;
  const [{ server }, change] = useUrlState();
  const [open, { open: show, close }] = useDisclosure(false);
  return (
    <Box component="section" mt="xl" aria-label="Tool servers">
      <Group justify="space-between" mb={4}>
        <Text component="h2" fw={650}>Tool servers</Text>
        {may
          ? (
            <Button
              variant="default"
              size="xs"
              leftSection={<Plus size={14} />}
              onClick={show}
            >
              Connect a server
            </Button>
          )
          : null}
      </Group>
      <Text size="sm" c="dimmed" mb="sm" maw={640}>
        The tools of any MCP server become capabilities here. What you agreed to is pinned: a tool
        that changes afterwards waits until somebody has looked at it.
      </Text>
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
                      {one.server_url ?? "a program on the server"}
                    </Text>
                  </Stack>
                  <Group gap="xs">
                    <Text size="sm" c="dimmed">
                      {formatCount(one.tools.agreed, "tool")} agreed to
                    </Text>
                    {one.tools.waiting
                      ? (
                        <Status
                          value="waiting"
                          label={`${one.tools.waiting} to look at`}
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
        : <Text size="sm" c="dimmed">No server is connected.</Text>}
      <ConnectServer opened={open} onClose={close} onMade={(id) => change({ server: id })} />
      <ServerDrawer id={server} onClose={() => change({ server: undefined })} />
    </Box>
  );
}
