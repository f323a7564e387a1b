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
import { t } from "../../strings";

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
            <Empty icon={History} title={t.boards.noVersionsYet}>
              {t.boards.everyChangeOfColumnsSkills}
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
      title: t.boards.restoreVersion(version.version),
      message: t.boards.itBecomesTheNewestVersion,
      yes: t.boards.restore,
    });
    if (!sure) return;
    await act(async () => {
      await client.POST("/api/v1/boards/{board_id}/revert", {
        params: { path: { board_id: boardId } },
        body: { part, version: version.version, ...(name ? { name } : {}) },
      });
      await refresh("/api/v1/boards");
    }, t.boards.restored);
  };
  return (
    <Card withBorder radius="md" py="xs" px="md">
      <Group justify="space-between" gap="xs">
        <div>
          <Text size="sm" fw={600}>
            {t.boards.version(capitalize(part), name ? ` ${name}` : "", version.version)}
          </Text>
          <Text size="xs" c="dimmed" component="div">
            {t.boards.byARemoved(
              <Timestamp at={version.created_at} size="xs" />,
              version.by.kind,
              version.removed,
              version.revert_of ? t.boards.restoresVersion(version.revert_of) : "",
            )}
          </Text>
        </div>
        {now ? <Badge variant="light" tt="none">{t.boards.current}</Badge> : mayEdit
          ? (
            <Button
              size="compact-sm"
              variant="default"
              loading={busy}
              aria-label={t.boards.restoreVersionOf(version.version, part, name)}
              onClick={() => void revert()}
            >
              {t.boards.restore2}
            </Button>
          )
          : null}
      </Group>
    </Card>
  );
}
