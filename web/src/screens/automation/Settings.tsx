// The limits of an automation with links to change them; its rules, export and archive.

import { Anchor, Badge, Button, Code, Group, Stack, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Archive, ArchiveRestore, Download } from "lucide-react";
import { client } from "../../api/client";
import { useMay } from "../../api/session";
import { useAct } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { CopyIcon } from "../../kit/Copy";
import { moment, visible } from "../../kit/format";
import { refreshAll } from "./queries";
import { Part } from "./Overview";
import { Rules } from "./Rules";
import { bounds, definitionOf, type Detail } from "./automationText";

function Bounds({ automation, may }: { automation: Detail; may: boolean }) {
  const edit = (pointer: string) => `/automations/${automation.id}/edit?at=${pointer}`;
  const rows = [
    { name: "Name", words: automation.name, pointer: "/name" },
    ...bounds(definitionOf(automation)),
  ];
  return (
    <Table verticalSpacing={6} withRowBorders={false}>
      <Table.Tbody>
        {rows.map((one) => (
          <Table.Tr key={one.name}>
            <Table.Th fw={400} c="dimmed" fz="sm" w={{ base: 110, sm: 180 }}>
              {visible(one.name)}
            </Table.Th>
            <Table.Td fz="sm" className="wrap-anywhere">{one.words}</Table.Td>
            <Table.Td w={64} ta="right">
              {may
                ? (
                  <Anchor
                    component={Link}
                    to={edit(one.pointer)}
                    size="sm"
                    aria-label={`Change: ${one.name}`}
                  >
                    Change
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
    automation.name.replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase() || "automation"
  }.json`;
  link.click();
  URL.revokeObjectURL(made);
}

function Putting({ automation }: { automation: Detail }) {
  const confirm = useConfirm();
  const { busy, act } = useAct();
  const params = { path: { automation_id: automation.id } };
  const away = automation.state === "archived";
  const archive = async () => {
    const yes = await confirm({
      title: `Archive ${automation.name}?`,
      words:
        "Nothing starts it any more, and its name is free. Its history stays, and it can be brought back, paused.",
      yes: "Archive it",
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.POST("/api/v1/automations/{automation_id}/archive", { params });
      await refreshAll();
    }, "It was put away.");
  };
  const restore = () =>
    act(async () => {
      await client.POST("/api/v1/automations/{automation_id}/restore", { params });
      await refreshAll();
    }, "It is back, paused.");
  return away
    ? (
      <Button
        variant="default"
        leftSection={<ArchiveRestore size={16} />}
        loading={busy}
        onClick={() => void restore()}
      >
        Bring it back
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
        Archive…
      </Button>
    );
}

export function Settings({ automation }: { automation: Detail }) {
  const edits = useMay("editor");
  const { act } = useAct();
  const tags = definitionOf(automation).metadata?.tags ?? [];
  return (
    <Stack>
      <Part title="What holds it">
        <Bounds automation={automation} may={edits && automation.state !== "archived"} />
        {tags.length
          ? (
            <Group gap={4} mt="sm">
              {tags.map((one) => <Badge key={one} variant="default" tt="none">{one}</Badge>)}
            </Group>
          )
          : null}
      </Part>
      <Part title="Standing rules">
        <Rules id={automation.id} />
      </Part>
      <Part title="This automation">
        <Group gap={4} mb="xs" wrap="nowrap">
          <Text size="sm" c="dimmed">Id</Text>
          <Code className="wrap-anywhere">{automation.id}</Code>
          <CopyIcon text={automation.id} label="Copy the id" />
        </Group>
        <Text size="sm" c="dimmed" mb="md">
          Made {moment(automation.created_at)}, last saved {moment(automation.updated_at)}.
        </Text>
        <Group gap="xs">
          <Button
            variant="default"
            leftSection={<Download size={16} />}
            onClick={() => void act(() => download(automation))}
          >
            Export as JSON
          </Button>
          {edits ? <Putting automation={automation} /> : null}
        </Group>
      </Part>
    </Stack>
  );
}
