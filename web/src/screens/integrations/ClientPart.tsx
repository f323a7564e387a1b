// The OAuth client of a provider: an admin registers this installation there once.

import { Button, Code, Group, List, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { type Answer, client, refresh } from "../../api/client";
import { notifyDone } from "../../kit/useAction";
import { ProblemNote } from "../../kit/QueryResult";
import { useSubmit } from "../../kit/formErrors";
import { CopyIcon } from "../../kit/Copy";
import { capitalize } from "../../kit/format";
import { Part } from "./Part";
import type { Integration } from "./states";

type Provider = Answer<"list_oauth_clients">["providers"][number];

export function ClientPart({ one, provider }: { one: Integration; provider: Provider }) {
  const also = provider.integrations.filter((name) => name !== one.name);
  const there = also.length ? capitalize(provider.provider) : one.label;
  const [id, setId] = useState("");
  const [secret, setSecret] = useState("");
  const { busy, refusal, send } = useSubmit("client_id", "client_secret");
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    const done = await send(async () => {
      await client.PUT("/api/v1/oauth-clients/{provider}", {
        params: { path: { provider: provider.provider } },
        body: { client_id: id, ...(secret ? { client_secret: secret } : {}) },
      });
      await refresh("/api/v1/oauth-clients", "/api/v1/integrations");
    });
    if (!done) return;
    notifyDone(`Everybody here can sign in at ${there} now.`);
    setSecret("");
  };
  return (
    <Part title={`Signing in at ${there}`}>
      <Stack gap="sm">
        <Text size="sm">
          {provider.has_client
            ? "A client is set: members of this workspace can sign in."
            : `Nobody can sign in yet: this installation is not known at ${there}. An admin does this once, for all members.`}
          {also.length ? ` The same client serves ${also.join(" and ")}.` : ""}
        </Text>
        <List type="ordered" size="sm" spacing="xs">
          <List.Item>
            Register this installation as an application at{" "}
            {there}, with this address to come back to:
            <Group gap={4}>
              <Code className="wrap-anywhere">{provider.redirect_url}</Code>
              <CopyIcon text={provider.redirect_url} label="Copy the address" />
            </Group>
          </List.Item>
          <List.Item>
            Give the client id and the secret that you are shown there.
          </List.Item>
        </List>
        <form
          onSubmit={(event) => void submit(event)}
          aria-label={`The client of ${there}`}
        >
          <Stack maw={460}>
            <TextInput
              label="Client id"
              required
              maxLength={500}
              autoComplete="off"
              value={id}
              error={refusal.at("client_id")}
              onChange={(event) => setId(event.currentTarget.value)}
            />
            <PasswordInput
              label="Client secret"
              maxLength={8192}
              autoComplete="new-password"
              value={secret}
              error={refusal.at("client_secret")}
              onChange={(event) => setSecret(event.currentTarget.value)}
            />
            {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
            <Button
              type="submit"
              loading={busy}
              w="fit-content"
              variant={provider.has_client ? "default" : "filled"}
            >
              {provider.has_client ? "Use this client instead" : "Keep this client"}
            </Button>
          </Stack>
        </form>
      </Stack>
    </Part>
  );
}
