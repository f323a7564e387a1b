// The limits of an automation with links to change them; its rules, export and archive.

import { Anchor, Badge, Button, Code, Group, Stack, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Archive, ArchiveRestore, Download } from "lucide-react";
import { client } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { CopyIcon } from "../../kit/Copy";
import { escapeInvisible, formatDateTime } from "../../kit/format";
import { refreshAll } from "./queries";
import { Part } from "./Overview";
import { Rules } from "./Rules";
import { definitionOf, type Detail, listLimits } from "./automationText";
import { t } from "../../strings";

function Limits({ automation, may }: { automation: Detail; may: boolean }) {
  const edit = (pointer: string) => `/automations/${automation.id}/edit?at=${pointer}`;
  const rows = [
    { name: t.automation.name, text: automation.name, pointer: "/name" },
    ...listLimits(definitionOf(automation)),
  ];
  return (
    <Table verticalSpacing={6} withRowBorders={false}>
      <Table.Tbody>
        {rows.map((one) => (
          <Table.Tr key={one.name}>
            <Table.Th fw={400} c="dimmed" fz="sm" w={{ base: 110, sm: 180 }}>
              {escapeInvisible(one.name)}
            </Table.Th>
            <Table.Td fz="sm" className="wrap-anywhere">{one.text}</Table.Td>
            <Table.Td w={64} ta="right">
              {may
                ? (
                  <Anchor
                    component={Link}
                    to={edit(one.pointer)}
                    size="sm"
                    aria-label={t.automation.change2(one.name)}
                  >
                    {t.automation.change}
                  </Anchor>
                )
                : null}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

async function download(automation: Detail): Promise<void> {
  const params = { path: { automation_id: automation.id } };
  const { data } = await client.GET("/api/v1/automations/{automation_id}/export", { params });
  const made = URL.createObjectURL(
    new Blob([`${JSON.stringify(data, null, 2)}\n`], { type: "application/json" }),
  );
  const link = document.createElement("a");
  link.href = made;
  link.download = `${
    automation.name.replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase() || t.automation.automation
  }.json`;
  link.click();
  URL.revokeObjectURL(made);
}

function ArchiveSection({ automation }: { automation: Detail }) {
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const params = { path: { automation_id: automation.id } };
  const away = automation.state === "archived";
  const archive = async () => {
    const yes = await confirm({
      title: t.automation.archive(automation.name),
      message: t.automation.itNoLongerStartsAnd,
      yes: t.automation.archive2,
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.POST("/api/v1/automations/{automation_id}/archive", { params });
      await refreshAll();
    }, t.automation.archived);
  };
  const restore = () =>
    act(async () => {
      await client.POST("/api/v1/automations/{automation_id}/restore", { params });
      await refreshAll();
    }, t.automation.restoredPaused);
  return away
    ? (
      <Button
        variant="default"
        leftSection={<ArchiveRestore size={16} />}
        loading={busy}
        onClick={() => void restore()}
      >
        {t.automation.restore}
      </Button>
    )
    : (
      <Button
        variant="default"
        color="red"
        leftSection={<Archive size={16} />}
        loading={busy}
        onClick={() => void archive()}
      >
        {t.automation.archive3}
      </Button>
    );
}

export function Settings({ automation }: { automation: Detail }) {
  const edits = useHasRole("editor");
  const { act } = useAction();
  const tags = definitionOf(automation).metadata?.tags ?? [];
  return (
    <Stack>
      <Part title={t.automation.limits2}>
        <Limits automation={automation} may={edits && automation.state !== "archived"} />
        {tags.length
          ? (
            <Group gap={4} mt="sm">
              {tags.map((one) => <Badge key={one} variant="default" tt="none">{one}</Badge>)}
            </Group>
          )
          : null}
      </Part>
      <Part title={t.automation.standingRules}>
        <Rules id={automation.id} />
      </Part>
      <Part title={t.automation.thisAutomation}>
        <Group gap={4} mb="xs" wrap="nowrap">
          <Text size="sm" c="dimmed">{t.automation.id}</Text>
          <Code className="wrap-anywhere">{automation.id}</Code>
          <CopyIcon text={automation.id} label={t.automation.copyTheId} />
        </Group>
        <Text size="sm" c="dimmed" mb="md">
          {t.automation.createdLastSaved(
            formatDateTime(automation.created_at),
            formatDateTime(automation.updated_at),
          )}
        </Text>
        <Group gap="xs">
          <Button
            variant="default"
            leftSection={<Download size={16} />}
            onClick={() => void act(() => download(automation))}
          >
            {t.automation.exportAsJson}
          </Button>
          {edits ? <ArchiveSection automation={automation} /> : null}
        </Group>
      </Part>
    </Stack>
  );
}
