// How to connect an assistant or a program, and the connected clients.

import { Box, Card, Code, Group, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { api } from "../../api/client";
import { useSession } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { useUrlState } from "../../kit/urlState";
import { CopyAs, CopyButton } from "../../kit/Copy";
import { PageHead } from "../../kit/PageHead";
import { ConnectedClients } from "./ConnectedClients";
import { KnownClients } from "./KnownClients";
import { TokenForm } from "./TokenForm";
import { t } from "../../strings";

export default function Connect() {
  const who = useSession();
  const connected = api.useQuery("get", "/api/v1/oauth/clients");
  return (
    <Box>
      <PageHead
        title={t.connect.connectAnMcpClient}
        sub={t.connect.aConnectedAssistantActsAs(who.workspace.name)}
        right={
          <CopyAs
            operations={[
              {
                label: t.connect.listConnectedClients,
                operation: { method: "GET", path: "/api/v1/oauth/clients" },
              },
              {
                label: t.connect.createToken,
                operation: {
                  method: "POST",
                  path: "/api/v1/tokens",
                  body: { name: "assistant", role: "viewer" },
                },
              },
            ]}
          />
        }
      />
      <QueryResult of={connected} lines={8}>
        {({ address, clients }) => (
          <Stack gap="xl">
            <HowTo address={address} />
            <ConnectedClients clients={clients} />
          </Stack>
        )}
      </QueryResult>
    </Box>
  );
}

function HowTo({ address }: { address: string }) {
  const [params, set] = useUrlState();
  const [token, setToken] = useState<string | null>(null);
  const withToken = params.with === "token";
  return (
    <Stack gap="md" component="section" aria-labelledby="how-to">
      <Card withBorder radius="lg" p="lg">
        <Group justify="space-between" gap="sm">
          <Box style={{ minWidth: 0 }}>
            <Title order={2} size="h5" id="how-to">{t.connect.serverAddress}</Title>
            <Code fz="md" mt={6} display="inline-block" className="wrap-anywhere">
              {address}
            </Code>
          </Box>
          <CopyButton text={address} label={t.connect.copyTheAddress} />
        </Group>
        <Text size="sm" c="dimmed" mt="sm">{t.connect.mostClientsNeedOnlyThis}</Text>
      </Card>
      <SegmentedControl
        aria-label={t.connect.authentication}
        value={withToken ? "token" : "sign-in"}
        onChange={(chosen) => set({ with: chosen === "token" ? "token" : undefined })}
        data={[
          { value: "sign-in", label: t.connect.signInAndAgree },
          { value: "token", label: t.connect.withAToken },
        ]}
        style={{ alignSelf: "flex-start", maxWidth: "100%" }}
      />
      {withToken ? <TokenForm token={token} onMade={setToken} /> : null}
      {withToken && !token ? null : (
        <KnownClients
          access={{ address, token: withToken ? token : null }}
          chosen={params.client}
          onChoose={(client) => set({ client })}
        />
      )}
    </Stack>
  );
}
