// Earlier versions of the parts of a board, and restoring them.

import { Badge, Button, Card, Group, Stack, Text } from "@mantine/core";
import { History } from "lucide-react";
import { type Answer, api, client, refresh } from "../../api/client";
import { useAction } from "../../kit/useAction";
import { QueryResult } from "../../kit/QueryResult";
import { useConfirm } from "../../kit/Confirm";
import { Empty } from "../../kit/Empty";
import { Timestamp } from "../../kit/Timestamp";
import { capitalize } from "../../kit/format";

type Version = Answer<"list_board_versions">["versions"][number];

export function Versions({ boardId, mayEdit }: { boardId: string; mayEdit: boolean }) {
  const versions = api.useQuery("get", "/api/v1/boards/{board_id}/versions", {
    params: { path: { board_id: boardId }, query: { limit: 200 } },
  });
  return (
    <QueryResult of={versions}>
      {({ versions: all }) => {
        const newest = new Map<string, number>();
        for (const one of all) {
          const key = `${one.part}/${one.name}`;
          newest.set(key, Math.max(newest.get(key) ?? 0, one.version));
        }
        return all.length
          ? (
            <Stack gap="xs" maw={720}>
              {all.map((one) => (
                <Line
                  key={`${one.part}/${one.name}/${one.version}`}
                  boardId={boardId}
                  version={one}
                  now={newest.get(`${one.part}/${one.name}`) === one.version}
                  mayEdit={mayEdit}
                />
              ))}
            </Stack>
          )
          : (
            <Empty icon={History} title="No versions yet">
              Each change of columns, skills, forms and the dashboard is kept here.
            </Empty>
          );
      }}
    </QueryResult>
  );
}

type LineProps = { boardId: string; version: Version; now: boolean; mayEdit: boolean };

function Line({ boardId, version, now, mayEdit }: LineProps) {
  const { busy, act } = useAction();
  const confirm = useConfirm();
  const { part, name } = version;
  const revert = async () => {
    const sure = await confirm({
      title: `Bring version ${version.version} back?`,
      message: "It becomes the newest version. Nothing is lost, and no row is touched.",
      yes: "Bring it back",
    });
    if (!sure) return;
    await act(async () => {
      await client.POST("/api/v1/boards/{board_id}/revert", {
        params: { path: { board_id: boardId } },
        body: { part, version: version.version, ...(name ? { name } : {}) },
      });
      await refresh("/api/v1/boards");
    }, "It is back.");
  };
  return (
    <Card withBorder radius="md" py="xs" px="md">
      <Group justify="space-between" gap="xs">
        <div>
          <Text size="sm" fw={600}>
            {capitalize(part)}
            {name ? ` ${name}` : ""}, version {version.version}
          </Text>
          <Text size="xs" c="dimmed" component="div">
            <Timestamp at={version.created_at} size="xs" /> by a {version.by.kind}
            {version.removed ? ", taken away" : ""}
            {version.revert_of ? `, brings back version ${version.revert_of}` : ""}
          </Text>
        </div>
        {now ? <Badge variant="light" tt="none">now</Badge> : mayEdit
          ? (
            <Button
              size="compact-sm"
              variant="default"
              loading={busy}
              aria-label={`Bring back version ${version.version} of ${part} ${name}`}
              onClick={() => void revert()}
            >
              Bring back
            </Button>
          )
          : null}
      </Group>
    </Card>
  );
}
