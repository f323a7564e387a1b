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

export default function Connect() {
  const who = useSession();
  const connected = api.useQuery("get", "/api/v1/oauth/clients");
  return (
    <Box>
      <PageHead
        title="Connect an MCP client"
        sub={`An assistant that is connected can do in ${who.workspace.name} what you let it do, as you.`}
        right={
          <CopyAs
            operations={[
              {
                label: "List connected clients",
                operation: { method: "GET", path: "/api/v1/oauth/clients" },
              },
              {
                label: "Make a token",
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
            <Title order={2} size="h5" id="how-to">The address of this server</Title>
            <Code fz="md" mt={6} display="inline-block" className="wrap-anywhere">
              {address}
            </Code>
          </Box>
          <CopyButton text={address} label="Copy the address" />
        </Group>
        <Text size="sm" c="dimmed" mt="sm">
          Most clients need nothing else: they open your browser, you sign in and choose what they
          may do.
        </Text>
      </Card>
      <SegmentedControl
        aria-label="How the client shows who it is"
        value={withToken ? "token" : "sign-in"}
        onChange={(chosen) => set({ with: chosen === "token" ? "token" : undefined })}
        data={[
          { value: "sign-in", label: "You sign in and agree" },
          { value: "token", label: "With a token" },
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
