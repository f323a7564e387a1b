// One MCP server: its health, and each of its tools to allow or deny.

import { Accordion, Badge, Button, Drawer, Group, Select, Stack, Text } from "@mantine/core";
import { type Answer, api, client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { QueryResult } from "../../kit/QueryResult";
import { useConfirm } from "../../kit/Confirm";
import { Json } from "../../kit/Json";
import { Status } from "../../kit/Status";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type Connection = Answer<"get_connection">;
type Tool = Connection["tools"][number];

const STATUS: Record<Tool["state"], string> = {
  agreed: "ok",
  new: "waiting",
  changed: "waiting",
  gone: "quiet",
  refused: "failed",
};
const EFFECTS = [{ value: "read", label: t.integrations.onlyReads }, {
  value: "send",
  label: t.integrations.makesChanges,
}];

export function ServerDrawer({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  const problem = api.useQuery(
    "get",
    "/api/v1/connections/{connection_id}",
    { params: { path: { connection_id: id ?? "" } } },
    { enabled: id !== undefined },
  );
  return (
    <Drawer
      opened={id !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title={problem.data?.connection.alias ?? t.integrations.mcpServer}
    >
      <QueryResult of={problem}>
        {(found) => <Inside connection={found} onClose={onClose} />}
      </QueryResult>
    </Drawer>
  );
}

function Inside({ connection: problem, onClose }: { connection: Connection; onClose: () => void }) {
  const { connection, tools } = problem;
  const may = useHasRole("admin");
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const at = { params: { path: { connection_id: connection.id } } };
  const again = () => refresh("/api/v1/connections", "/api/v1/consents");
  const harvest = () =>
    act(async () => {
      await client.POST("/api/v1/connections/{connection_id}/harvest", { ...at, body: {} });
      await again();
    }, t.integrations.toolsReloaded);
  const waiting = tools.filter((one) => one.state === "new" || one.state === "changed");
  const agree = (some: Tool[]) =>
    act(async () => {
      await client.POST("/api/v1/connections/{connection_id}/agree", {
        ...at,
        body: { tools: some.map(({ name, hash }) => ({ name, hash })) },
      });
      await again();
    }, t.integrations.agreed);
  const refuse = (name: string) =>
    act(async () => {
      await client.POST("/api/v1/connections/{connection_id}/refuse", {
        ...at,
        body: { tools: [name] },
      });
      await again();
    }, t.integrations.isDeclined(name));
  const effect = (tool: string, value: string | null) =>
    act(async () => {
      await client.PUT("/api/v1/connections/{connection_id}/tools/{tool}/effect", {
        params: { path: { connection_id: connection.id, tool } },
        body: { effect: value as "read" | "send" | null },
      });
      await again();
    });
  const end = async () => {
    const sure = await confirm({
      title: t.integrations.disconnect(connection.alias),
      message: t.integrations.automationsThatUseItsTools,
      yes: t.integrations.disconnect2,
      dangerous: true,
    });
    if (!sure) return;
    const gone = await act(async () => {
      await client.DELETE("/api/v1/connections/{connection_id}", at);
      await again();
    }, t.integrations.isDisconnected(connection.alias));
    if (gone) onClose();
  };
  return (
    <Stack>
      <Text size="sm" c="dimmed" className="wrap-anywhere">{connection.server_url}</Text>
      {connection.last_error
        ? <Text size="sm" c="var(--bad)">{connection.last_error.detail}</Text>
        : null}
      {may
        ? (
          <Group gap="xs">
            <Button
              size="xs"
              variant="default"
              loading={busy}
              onClick={() => void harvest()}
            >
              {t.integrations.reloadTools}
            </Button>
            {waiting.length > 1
              ? (
                <Button size="xs" onClick={() => void agree(waiting)}>
                  {t.integrations.agreeToAllWaitingTools(waiting.length)}
                </Button>
              )
              : null}
            <Button size="xs" variant="subtle" color="red" onClick={() => void end()}>
              {t.integrations.disconnect2}
            </Button>
          </Group>
        )
        : null}
      <Accordion variant="separated">
        {tools.map((tool) => (
          <Accordion.Item key={tool.name} value={tool.name}>
            <Accordion.Control>
              <Group gap="xs">
                <Text fw={600} className="mono">{escapeInvisible(tool.name)}</Text>
                <Status value={STATUS[tool.state]} label={tool.state} />
                <Badge variant="light" color="gray" tt="none">
                  {tool.effect === "read" ? t.integrations.reads : t.integrations.changes}
                </Badge>
              </Group>
            </Accordion.Control>
            <Accordion.Panel>
              <ToolPart
                tool={tool}
                may={may}
                agree={() => void agree([tool])}
                refuse={() => void refuse(tool.name)}
                effect={(value) => void effect(tool.name, value)}
              />
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
    </Stack>
  );
}

type ToolProps = {
  tool: Tool;
  may: boolean;
  agree: () => void;
  refuse: () => void;
  effect: (value: string | null) => void;
};

function ToolPart({ tool, may, agree, refuse, effect }: ToolProps) {
  return (
    <Stack gap="sm">
      <Text size="sm">{tool.description}</Text>
      {tool.reason ? <Text size="sm" c="var(--bad)">{tool.reason}</Text> : null}
      {tool.differences.map((one) => <Text key={one} size="sm">{t.integrations.changed(one)}
      </Text>)}
      {tool.used_by.length
        ? <Text size="sm" c="dimmed">{t.integrations.grantedTo(tool.used_by.join(", "))}</Text>
        : null}
      {may
        ? (
          <Group gap="xs" align="flex-end">
            {tool.state === "agreed"
              ? null
              : <Button size="xs" onClick={agree}>{t.integrations.agree}</Button>}
            {tool.state === "refused" ? null : (
              <Button size="xs" variant="default" onClick={refuse}>
                {t.integrations.decline}
              </Button>
            )}
            <Select
              size="xs"
              label={t.integrations.whatItDoes}
              description={tool.effect_because}
              data={EFFECTS}
              value={tool.effect}
              onChange={effect}
              clearable
            />
          </Group>
        )
        : null}
      <Json value={tool.input_schema} label={t.integrations.argumentsOf(tool.name)} most={220} />
    </Stack>
  );
}
