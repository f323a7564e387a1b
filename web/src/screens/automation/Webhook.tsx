// A webhook's URL and token. The token is shown once, after it is created.

import { Alert, Button, Code, Group, Stack, Text } from "@mantine/core";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { client, type Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { CopyButton, CopyIcon } from "../../kit/Copy";
import { Json } from "../../kit/Json";
import { formatDate } from "../../kit/format";
import { refreshAll } from "./queries";
import { t } from "../../strings";

type Trigger = Schemas["TriggerShape"];
type CreatedToken = Schemas["TokenMade"];

/** An example request, ready to run. */
export const fireCurl = ({ url, token }: { url: string; token: string }) =>
  `curl -X POST -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' ` +
  `-d '{"hello": "world"}' '${url}'`;

function Address({ label, url }: { label: string; url: string }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Text size="sm" c="dimmed" style={{ flex: "none" }}>{label}</Text>
      <Code className="wrap-anywhere">{url}</Code>
      <CopyIcon text={url} label={t.automation.copyTheAddress(label.toLowerCase())} />
    </Group>
  );
}

function NewToken({ made, close }: { made: CreatedToken; close: () => void }) {
  return (
    <Alert
      color="teal"
      variant="light"
      title={t.automation.theTokenShownOnce}
      icon={<KeyRound size={16} />}
    >
      <Stack gap="xs">
        <Group gap="xs" wrap="nowrap">
          <Code className="wrap-anywhere">{made.token}</Code>
          <CopyIcon text={made.token} label={t.automation.copyTheToken} />
        </Group>
        <Text size="sm">{t.automation.storeItWhereTheCaller}</Text>
        <Json value={fireCurl(made)} label={t.automation.theCommandThatCallsIt} />
        <Group>
          <Button size="compact-sm" variant="default" onClick={close}>
            {t.automation.iStoredIt}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

function useToken(trigger: Trigger) {
  const [made, setMade] = useState<CreatedToken | null>(null);
  const { busy, act } = useAction();
  const confirm = useConfirm();
  const params = { path: { automation_id: trigger.automation_id, slug: trigger.slug } };
  const path = "/api/v1/automations/{automation_id}/triggers/{slug}/token" as const;
  const make = async () => {
    const yes = !trigger.token || await confirm({
      title: t.automation.createANewToken,
      message: t.automation.theCurrentTokenIsRevoked,
      yes: t.automation.createToken,
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      const { data } = await client.POST(path, { params });
      setMade(data!);
      await refreshAll();
    });
  };
  const end = async () => {
    const yes = await confirm({
      title: t.automation.revokeTheToken,
      message: t.automation.theWebhookCanNoLonger,
      yes: t.automation.revoke,
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.DELETE(path, { params });
      setMade(null);
      await refreshAll();
    }, t.automation.theTokenIsRevoked);
  };
  return { made, busy, make, end, forget: () => setMade(null) };
}

export function Webhook({ trigger }: { trigger: Trigger }) {
  const may = useHasRole("editor");
  const { made, busy, make, end, forget } = useToken(trigger);
  const { token } = trigger;
  return (
    <Stack gap="xs">
      {trigger.url ? <Address label={t.automation.withItsToken} url={trigger.url} /> : null}
      {trigger.signed_url
        ? <Address label={t.automation.withASignature} url={trigger.signed_url} />
        : null}
      {made ? <NewToken made={made} close={forget} /> : null}
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          {token
            ? t.automation.aTokenThatEndsIn(
              token.hint,
              token.made_at ? t.automation.created(formatDate(token.made_at)) : "",
            )
            : trigger.signed_url
            ? t.automation.noTokenCallersSignTheir
            : t.automation.noTokenYetSoIt}
        </Text>
        {may
          ? (
            <Button
              size="compact-sm"
              variant="default"
              loading={busy}
              onClick={() => void make()}
            >
              {token ? t.automation.createANewToken2 : t.automation.createAToken}
            </Button>
          )
          : null}
        {may && token
          ? (
            <Button
              size="compact-sm"
              variant="subtle"
              color="red"
              onClick={() => void end()}
            >
              {t.automation.revoke2}
            </Button>
          )
          : null}
        {trigger.url && !made
          ? (
            <CopyButton
              text={fireCurl({ url: trigger.url, token: "$TOKEN" })}
              label={t.automation.copyAsCurl}
            />
          )
          : null}
      </Group>
    </Stack>
  );
}
