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
    <Part title="Keep reading">
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
                  ? `${
                    capitalize(reader.triggers.map(describeTrigger).join(", and "))
                  }. What is new is kept as pages.`
                  : "It does not read at the moment."}
              </Text>
            </Group>
          )
          : (
            <Text size="sm" c="dimmed" maw={620}>
              Nothing is read from {escapeInvisible(one.label)}{" "}
              by itself. Kept reading, what is new there comes in as pages, and automations can
              begin with it. An automation of yours does that; you can pause or change it like any
              other.
            </Text>
          )}
        <Group gap="xs">
          {active ? null : (
            <Button
              loading={busy}
              onClick={() =>
                void turn(
                  "watch_integration",
                  `${one.label} is read again and again from now on.`,
                )}
            >
              {reader ? "Go on reading" : "Keep reading"}
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
                    `${one.label} is not read any more. What came in stays.`,
                  )}
              >
                Stop reading
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
      if (!/^https:\/\//.test(answer.url)) throw new Error("There is no address to open.");
      setMade(answer);
    });
  return (
    <Part title="Your chat">
      <Stack gap="sm" align="flex-start">
        <Text size="sm" c="dimmed">
          {linked
            ? "A chat is linked: the bot nudges you there, and asks you there when something waits."
            : "No chat is linked yet. The bot writes to nobody until you have pressed Start in a chat with it."}
        </Text>
        {hears ? null : (
          <Text size="sm">
            The bot only hears you while it is read: keep reading first.
          </Text>
        )}
        <Button
          variant={linked ? "default" : "filled"}
          disabled={!hears}
          loading={busy}
          onClick={() => void begin()}
        >
          {linked ? "Link another chat" : "Link your chat"}
        </Button>
        {made
          ? (
            <Text size="sm" role="status">
              <Anchor href={made.url} target="_blank" rel="noopener noreferrer">
                Open Telegram and press Start
              </Anchor>{" "}
              where you are signed in to it. It works once, until {formatDateTime(made.expires_at)}.
            </Text>
          )
          : null}
      </Stack>
    </Part>
  );
}
