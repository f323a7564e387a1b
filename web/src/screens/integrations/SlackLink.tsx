// Linking a Slack account: items that wait for a decision are then shown there, with buttons.

import { Anchor, Button, Code, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { client } from "../../api/client";
import { QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { CopyButton, CopyIcon } from "../../kit/Copy";
import { formatDateTime } from "../../kit/format";
import { t } from "../../strings";

type SlackState = {
  linked: boolean;
  team_id: string | null;
  user_id: string | null;
  linked_at: string | null;
  connected: boolean;
  signing_secret: boolean;
  request_url: string;
};
type Begun = { command: string; expires_at: string };

const call = async <T,>(capability_id: string): Promise<T> => {
  const { data } = await client.POST("/api/v1/capabilities/{capability_id}", {
    params: { path: { capability_id } },
    body: {} as never,
  });
  return data as T;
};

export function SlackLink() {
  const [begun, setBegun] = useState<Begun | null>(null);
  const state = useQuery({
    queryKey: ["get_slack_link"],
    queryFn: () => call<SlackState>("get_slack_link"),
    // The code is confirmed in Slack, so this page polls for it.
    refetchInterval: begun ? 3_000 : false,
  });
  return (
    <QueryResult of={state} lines={2}>
      {(found) => (
        <Found
          state={found}
          begun={begun}
          onBegin={setBegun}
          refetch={() => state.refetch()}
        />
      )}
    </QueryResult>
  );
}

type Props = {
  state: SlackState;
  begun: Begun | null;
  onBegin: (begun: Begun | null) => void;
  refetch: () => Promise<unknown>;
};

function Found({ state, begun, onBegin, refetch }: Props) {
  const { busy, act } = useAction();
  const begin = () => act(async () => onBegin(await call<Begun>("link_slack")));
  const end = () =>
    act(async () => {
      await call("unlink_slack");
      onBegin(null);
      await refetch();
    }, t.integrations.yourSlackAccountIsUnlinked);
  return (
    <Stack gap="sm" align="flex-start">
      <Text size="sm" c="dimmed" role="status">
        {state.linked && state.linked_at
          ? t.integrations.theSlackAccountOfThe(
            state.user_id,
            state.team_id,
            formatDateTime(state.linked_at),
          )
          : t.integrations.noSlackAccountIsLinked}
      </Text>
      <Missing state={state} />
      <Group gap="xs">
        <Button
          variant={state.linked ? "default" : "filled"}
          disabled={!state.connected || !state.signing_secret}
          loading={busy}
          onClick={() => void begin()}
        >
          {state.linked
            ? t.integrations.linkAnotherSlackAccount
            : t.integrations.linkYourSlackAccount}
        </Button>
        {state.linked
          ? (
            <Button variant="subtle" color="red" loading={busy} onClick={() => void end()}>
              {t.integrations.unlink}
            </Button>
          )
          : null}
      </Group>
      {begun
        ? (
          <Stack gap={4}>
            <Text size="sm">
              {t.integrations.sendThisInAnySlack(formatDateTime(begun.expires_at))}
            </Text>
            <Group gap="xs">
              <Code>{begun.command}</Code>
              <CopyButton text={begun.command} label={t.integrations.copyCommand} />
            </Group>
          </Stack>
        )
        : null}
    </Stack>
  );
}

/** What must be configured before an account can be linked. */
function Missing({ state }: { state: SlackState }) {
  if (!state.connected) {
    return (
      <Text size="sm">
        {t.integrations.slackIsNotConnected(
          <Anchor component={Link} to="/integrations/slack">
            {t.integrations.connectItFirst}
          </Anchor>,
        )}
      </Text>
    );
  }
  if (state.signing_secret) return null;
  return (
    <Stack gap={4}>
      <Text size="sm">{t.integrations.anAdminAddsTheApps(<Code>SLACK_SIGNING_SECRET</Code>)}</Text>
      <Group gap={4}>
        <Code>{state.request_url}</Code>
        <CopyIcon text={state.request_url} label={t.integrations.copyTheRequestUrl} />
      </Group>
    </Stack>
  );
}
