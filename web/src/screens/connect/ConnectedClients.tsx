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

type Connected = Schemas["ConnectedClient"];

const ICONS = { web: Globe, loopback: Laptop, app: AppWindow };
const PLACES = {
  web: (name: string) => name,
  loopback: () => "a program on a computer",
  app: (name: string) => `the app of ${name}: links`,
};

export function ConnectedClients({ clients }: { clients: readonly Connected[] }) {
  if (clients.length === 0) {
    return (
      <Empty icon={Plug} title="No client is connected yet">
        Point one at the address above. It opens this page, asks you, and is listed here with what
        you let it do.
      </Empty>
    );
  }
  return (
    <Stack gap="sm" component="section" aria-labelledby="connected">
      <Title order={2} size="h4" id="connected">Connected as you</Title>
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
      title: `Disconnect ${one.name}?`,
      message: "Everything it holds ends at once. To come back, it has to ask you again.",
      yes: "Disconnect",
      dangerous: true,
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/oauth/clients/{client_id}", {
        params: { path: { client_id: one.id } },
      });
      await refresh("/api/v1/oauth/clients");
    }, `${one.name} is disconnected.`);
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
              label={one.active ? "connected" : "signed out"}
            />
          </Group>
          <Text size="sm" c="dimmed" component="div" className="wrap-anywhere">
            {titleOf(one.role)} · answered at {PLACES[one.redirect.kind](one.redirect.name)}{" "}
            · agreed <Timestamp at={one.agreed_at} /> · {one.last_used_at
              ? (
                <>
                  last used <Timestamp at={one.last_used_at} />
                </>
              )
              : "never used"}
          </Text>
        </Stack>
      </Group>
      <Button
        variant="default"
        size="xs"
        loading={busy}
        onClick={() => void disconnect()}
        aria-label={`Disconnect ${one.name}`}
      >
        Disconnect
      </Button>
    </Group>
  );
}
