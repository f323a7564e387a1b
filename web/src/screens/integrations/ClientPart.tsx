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
import { t } from "../../strings";

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
    notifyDone(t.integrations.membersCanNowSignIn(there));
    setSecret("");
  };
  return (
    <Part title={t.integrations.oauthClientFor(there)}>
      <Stack gap="sm">
        <Text size="sm">
          {provider.has_client
            ? t.integrations.aClientIsConfiguredMembers
            : t.integrations.signInIsNotAvailable(there)}
          {also.length ? t.integrations.theSameClientIsUsed(also.join(" and ")) : ""}
        </Text>
        <List type="ordered" size="sm" spacing="xs">
          <List.Item>
            {t.integrations.registerThisInstallationAsAn(there)}
            <Group gap={4}>
              <Code className="wrap-anywhere">{provider.redirect_url}</Code>
              <CopyIcon text={provider.redirect_url} label={t.integrations.copyTheAddress} />
            </Group>
          </List.Item>
          <List.Item>{t.integrations.enterTheClientIdAnd}</List.Item>
        </List>
        <form
          onSubmit={(event) => void submit(event)}
          aria-label={t.integrations.theClientOf(there)}
        >
          <Stack maw={460}>
            <TextInput
              label={t.integrations.clientId}
              required
              maxLength={500}
              autoComplete="off"
              value={id}
              error={refusal.at("client_id")}
              onChange={(event) => setId(event.currentTarget.value)}
            />
            <PasswordInput
              label={t.integrations.clientSecret}
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
              {provider.has_client ? t.integrations.replaceClient : t.integrations.saveClient}
            </Button>
          </Stack>
        </form>
      </Stack>
    </Part>
  );
}
