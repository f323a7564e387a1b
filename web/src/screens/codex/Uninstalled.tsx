// Uninstalled recipes that can be restored.

import { Button, Card, Group, Stack, Text } from "@mantine/core";
import { Archive } from "lucide-react";
import { client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { notifyDone, useAction } from "../../kit/useAction";
import { Empty } from "../../kit/Empty";
import { Timestamp } from "../../kit/Timestamp";
import type { Gone } from "./recipes";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

export function Uninstalled({ held }: { held: Gone[] }) {
  const may = useHasRole("editor");
  const { busy, act } = useAction();
  const recover = (one: Gone) =>
    act(async () => {
      await client.POST("/api/v1/uninstalled/{entity_id}/recover", {
        params: { path: { entity_id: one.id } },
        body: {},
      });
      await refresh(
        "/api/v1/installs",
        "/api/v1/uninstalled",
        "/api/v1/recipes",
        "/api/v1/automations",
        "/api/v1/boards",
      );
      notifyDone(t.codex.isRestoredPaused(one.name, one.kind === "automation"));
    });
  if (!held.length) {
    return (
      <Empty icon={Archive} title={t.codex.noUninstalledRecipes}>
        {t.codex.uninstalledRecipesStayHereFor}
      </Empty>
    );
  }
  return (
    <Stack gap="sm">
      {held.map((one) => (
        <Card key={one.id} withBorder radius="lg" p="md">
          <Group justify="space-between">
            <Stack gap={2}>
              <Text fw={650}>{escapeInvisible(one.name)}</Text>
              <Text size="sm" c="dimmed" component="div">
                {t.codex.canBeRecoveredUntil(one.kind, <Timestamp at={one.expires_at} />)}
              </Text>
            </Stack>
            {may
              ? (
                <Button
                  size="xs"
                  variant="default"
                  loading={busy}
                  onClick={() => void recover(one)}
                  aria-label={t.codex.recover2(one.name)}
                >
                  {t.codex.recover}
                </Button>
              )
              : null}
          </Group>
        </Card>
      ))}
    </Stack>
  );
}
