// Connecting an MCP server: its tool prefix, its URL and its authentication.

import {
  Button,
  Checkbox,
  Group,
  Modal,
  PasswordInput,
  Select,
  Stack,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { ProblemNote } from "../../kit/QueryResult";
import { useSubmit } from "../../kit/formErrors";
import { notifyDone } from "../../kit/useAction";
import { t } from "../../strings";

type Auth = "none" | "bearer" | "oauth";
const WAYS = [
  { value: "none", label: t.integrations.noAuthentication },
  { value: "bearer", label: t.integrations.withAToken },
  { value: "oauth", label: t.integrations.oauthSignIn },
];
const EMPTY = { alias: "", server_url: "", auth: "none" as Auth, token: "", agree: false };

type Props = { opened: boolean; onClose: () => void; onMade: (id: string) => void };

export function ConnectServer({ opened, onClose, onMade }: Props) {
  const [given, setGiven] = useState(EMPTY);
  const { busy, refusal, send } = useSubmit("alias", "server_url", "token");
  const change = (more: Partial<typeof EMPTY>) => setGiven((before) => ({ ...before, ...more }));
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    const { token, ...rest } = given;
    await send(async () => {
      const { data } = await client.POST("/api/v1/connections", {
        body: given.auth === "bearer" ? { ...rest, token } : rest,
      });
      await refresh("/api/v1/connections");
      const address = data?.sign_in_url;
      if (address && /^https?:\/\//.test(address)) location.assign(address);
      if (data) onMade(data.connection.id);
      notifyDone(t.integrations.isConnected(given.alias));
      setGiven(EMPTY);
      onClose();
    });
  };
  return (
    <Modal opened={opened} onClose={onClose} title={t.integrations.connectAnMcpServer} centered>
      <form
        onSubmit={(event) =>
          void submit(event)}
      >
        <Stack>
          <TextInput
            label={t.integrations.name}
            description={t.integrations.itsToolsAreNamedName}
            required
            value={given.alias}
            error={refusal.at("alias")}
            onChange={(event) =>
              change({ alias: event.currentTarget.value })}
            data-autofocus
          />
          <TextInput
            label={t.integrations.address}
            placeholder="https://example.com/mcp"
            required
            value={given.server_url}
            error={refusal.at("server_url")}
            onChange={(event) =>
              change({ server_url: event.currentTarget.value })}
          />
          <Select
            label={t.integrations.authentication}
            data={WAYS}
            value={given.auth}
            allowDeselect={false}
            onChange={(auth) =>
              auth && change({ auth: auth as Auth })}
          />
          {given.auth === "bearer"
            ? (
              <PasswordInput
                label={t.integrations.token}
                required
                value={given.token}
                error={refusal.at("token")}
                autoComplete="new-password"
                onChange={(event) => change({ token: event.currentTarget.value })}
              />
            )
            : null}
          <Checkbox
            label={t.integrations.agreeToItsCurrentTools}
            checked={given.agree}
            description={t.integrations.otherwiseEachToolWaitsFor}
            onChange={(event) => change({ agree: event.currentTarget.checked })}
          />
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>{t.integrations.cancel}</Button>
            <Button type="submit" loading={busy}>{t.integrations.connect}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
