// The authorized clients: permissions, last use, and revoking.

import { Button, Card, Group, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { AppWindow, Globe, Laptop, Plug } from "lucide-react";
import { client, refresh, type Schemas } from "../../api/client";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { Empty } from "../../kit/Empty";
import { Timestamp } from "../../kit/Timestamp";
import { Status } from "../../kit/Status";
import { titleOf } from "../oauth/consentText";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type Connected = Schemas["ConnectedClient"];

const ICONS = { web: Globe, loopback: Laptop, app: AppWindow };
const PLACES = {
  web: (name: string) => name,
  loopback: () => t.connect.aProgramOnThisComputer,
  app: (name: string) => t.connect.theAppOfLinks(name),
};

export function ConnectedClients({ clients }: { clients: readonly Connected[] }) {
  if (clients.length === 0) {
    return (
      <Empty icon={Plug} title={t.connect.noConnectedClients}>
        {t.connect.pointAClientAtThe}
      </Empty>
    );
  }
  return (
    <Stack gap="sm" component="section" aria-labelledby="connected">
      <Title order={2} size="h4" id="connected">{t.connect.connectedClients}</Title>
      <Card withBorder radius="lg" p={0}>
        {clients.map((one, at) => <Row key={one.id} of={one} first={at === 0} />)}
      </Card>
    </Stack>
  );
}

function Row({ of: one, first }: { of: Connected; first: boolean }) {
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const Icon = ICONS[one.redirect.kind];
  const disconnect = async () => {
    const sure = await confirm({
      title: t.connect.disconnect(one.name),
      message: t.connect.itsAccessEndsAtOnce,
      yes: t.connect.disconnect2,
      dangerous: true,
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/oauth/clients/{client_id}", {
        params: { path: { client_id: one.id } },
      });
      await refresh("/api/v1/oauth/clients");
    }, t.connect.isDisconnected(one.name));
  };
  return (
    <Group
      justify="space-between"
      p="md"
      gap="md"
      style={first ? undefined : { borderTop: "1px solid var(--line)" }}
    >
      <Group gap="md" wrap="nowrap" style={{ minWidth: 0, flex: "1 1 18rem" }}>
        <ThemeIcon variant="light" size="lg" radius="md">
          <Icon size={18} aria-hidden />
        </ThemeIcon>
        <Stack gap={2} style={{ minWidth: 0 }}>
          <Group gap="xs">
            <Text fw={600} className="wrap-anywhere">{escapeInvisible(one.name)}</Text>
            <Status
              value={one.active ? "connected" : "paused"}
              label={one.active ? t.connect.connected : t.connect.signedOut}
            />
          </Group>
          <Text size="sm" c="dimmed" component="div" className="wrap-anywhere">
            {t.connect.redirectsToAgreed(
              titleOf(one.role),
              PLACES[one.redirect.kind](one.redirect.name),
              <Timestamp at={one.agreed_at} />,
            )} {one.last_used_at
              ? <>{t.connect.lastUsed(<Timestamp at={one.last_used_at} />)}</>
              : t.connect.neverUsed}
          </Text>
        </Stack>
      </Group>
      <Button
        variant="default"
        size="xs"
        loading={busy}
        onClick={() => void disconnect()}
        aria-label={t.connect.disconnect3(one.name)}
      >
        {t.connect.disconnect2}
      </Button>
    </Group>
  );
}
