// Background use of a connection: polling it, and a chat with a bot.

import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, client, refresh } from "../../api/client";
import { notifyDone, notifyHint, useAction } from "../../kit/useAction";
import { Status } from "../../kit/Status";
import { capitalize, describeTrigger, escapeInvisible, formatDateTime } from "../../kit/format";
import { Part } from "./Part";
import type { Integration } from "./states";
import { t } from "../../strings";

const call = (capability_id: string, body: Record<string, unknown>) =>
  client.POST("/api/v1/capabilities/{capability_id}", {
    params: { path: { capability_id } },
    body: body as never,
  });

/** The automation that polls a connection; null if there is none or it was archived. */
function usePollingAutomation(one: Integration) {
  const id = one.connection?.automation_id ?? "";
  const found = api.useQuery(
    "get",
    "/api/v1/automations/{automation_id}",
    { params: { path: { automation_id: id } } },
    { enabled: one.polls && id !== "" },
  );
  return found.data && found.data.state !== "archived" ? found.data : null;
}

export function PollingPart({ one }: { one: Integration }) {
  const reader = usePollingAutomation(one);
  const { busy, act } = useAction();
  if (!one.polls) return null;
  const turn = (capability: string, text: string) =>
    act(async () => {
      const { data } = await call(capability, { source: one.name });
      const { hint } = data as { hint?: string };
      await refresh("/api/v1/integrations", "/api/v1/automations");
      if (hint) notifyHint(hint);
      else notifyDone(text);
    });
  const active = reader?.state === "active";
  return (
    <Part title={t.integrations.polling}>
      <Stack gap="sm">
        {reader
          ? (
            <Group gap="xs">
              <Anchor component={Link} to={`/automations/${reader.id}`} fw={600}>
                {escapeInvisible(reader.name)}
              </Anchor>
              <Status value={reader.state} />
              <Text size="sm" c="dimmed">
                {active
                  ? t.integrations.newItemsAreStoredAs(
                    capitalize(reader.triggers.map(describeTrigger).join(", and ")),
                  )
                  : t.integrations.pollingIsOff}
              </Text>
            </Group>
          )
          : (
            <Text size="sm" c="dimmed" maw={620}>
              {t.integrations.isNotPolledWithPolling(escapeInvisible(one.label))}
            </Text>
          )}
        <Group gap="xs">
          {active ? null : (
            <Button
              loading={busy}
              onClick={() =>
                void turn(
                  "watch_integration",
                  t.integrations.pollingIsOn(one.label),
                )}
            >
              {reader ? t.integrations.resumePolling : t.integrations.polling}
            </Button>
          )}
          {reader
            ? (
              <Button
                variant="default"
                loading={busy}
                onClick={() =>
                  void turn(
                    "unwatch_integration",
                    t.integrations.pollingIsOffExistingPages(one.label),
                  )}
              >
                {t.integrations.stopPolling}
              </Button>
            )
            : null}
        </Group>
      </Stack>
    </Part>
  );
}

/** A chat is linked by its owner, who sends a code to the bot. */
export function ChatPart({ one }: { one: Integration }) {
  const reader = usePollingAutomation(one);
  const hears = reader?.state === "active";
  const { busy, act } = useAction();
  const [made, setMade] = useState<{ url: string; expires_at: string } | null>(null);
  const linked =
    (one.connection?.settings as Record<string, unknown> | undefined)?.chat_id !== undefined;
  const begin = () =>
    act(async () => {
      const { data } = await call("link_telegram", {});
      const answer = data as unknown as { url: string; expires_at: string };
      // Only http(s) URLs are shown as links.
      if (!/^https:\/\//.test(answer.url)) throw new Error(t.integrations.noAddressToOpen);
      setMade(answer);
    });
  return (
    <Part title={t.integrations.yourChat}>
      <Stack gap="sm" align="flex-start">
        <Text size="sm" c="dimmed">
          {linked ? t.integrations.aChatIsLinkedThe : t.integrations.noChatIsLinkedThe}
        </Text>
        {hears ? null : <Text size="sm">{t.integrations.theBotReceivesMessagesOnly}</Text>}
        <Button
          variant={linked ? "default" : "filled"}
          disabled={!hears}
          loading={busy}
          onClick={() => void begin()}
        >
          {linked ? t.integrations.linkAnotherChat : t.integrations.linkYourChat}
        </Button>
        {made
          ? (
            <Text size="sm" role="status">
              {t.integrations.whereYouAreSignedIn(
                <Anchor href={made.url} target="_blank" rel="noopener noreferrer">
                  {t.integrations.openTelegramAndPressStart}
                </Anchor>,
                formatDateTime(made.expires_at),
              )}
            </Text>
          )
          : null}
      </Stack>
    </Part>
  );
}
