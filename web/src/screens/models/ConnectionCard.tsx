// One connection: its URL, its health, and removing it.

import { Button, Card, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { type Answer, client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { Status } from "../../kit/Status";
import { capitalize } from "../../kit/format";
import type { Connection } from "./Models";
import { t } from "../../strings";

type Props = { connection: Connection; onChange: (() => void) | null };

export function ConnectionCard({ connection, onChange }: Props) {
  const { name } = connection;
  const may = useHasRole("admin");
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const [tested, setTested] = useState<Answer<"test_model"> | null>(null);
  const test = () =>
    act(async () => {
      const { data } = await client.POST("/api/v1/models/connections/{name}/test", {
        params: { path: { name } },
        body: {},
      });
      setTested(data ?? null);
    });
  const end = async () => {
    const sure = await confirm({
      title: t.models.disconnect(name),
      message: t.models.itsKeyIsDeletedAgent,
      yes: t.models.disconnect2,
      dangerous: true,
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/models/connections/{name}", {
        params: { path: { name } },
      });
      await refresh("/api/v1/models");
    }, t.models.isDisconnected(name));
  };
  return (
    <Card withBorder radius="lg">
      <Stack gap="xs">
        <Group justify="space-between">
          <Text fw={650} component="h2" size="lg">{name}</Text>
          <Group gap={6}>
            {tested
              ? (
                <Status
                  value={tested.works ? "ok" : "failed"}
                  label={tested.works ? t.models.working : t.models.notWorking}
                />
              )
              : null}
            <Status
              value="quiet"
              label={connection.has_key ? t.models.keyStored : t.models.noKey}
            />
          </Group>
        </Group>
        <Text size="sm" c="dimmed" className="wrap-anywhere">
          {capitalize(connection.kind)}
          {connection.base_url ? t.models.at(connection.base_url) : ""}
          {connection.scope === "installation" ? t.models.forTheWholeInstallation : ""}
        </Text>
        <Text size="sm">
          {connection.takes ? t.models.models2(connection.takes) : ""}
          {connection.usual_model ? t.models.default(connection.usual_model) : ""}
        </Text>
        <Text size="sm" role="status">{tested?.detail ?? ""}</Text>
        {may
          ? (
            <Group gap="xs">
              <Button
                size="xs"
                variant="default"
                loading={busy}
                onClick={() => void test()}
              >
                {t.models.test}
              </Button>
              {onChange
                ? <Button size="xs" variant="default" onClick={onChange}>{t.models.change2}</Button>
                : null}
              {onChange
                ? (
                  <Button
                    size="xs"
                    variant="subtle"
                    color="red"
                    onClick={() => void end()}
                  >
                    {t.models.disconnect2}
                  </Button>
                )
                : null}
            </Group>
          )
          : null}
      </Stack>
    </Card>
  );
}
