// A failing automation: its last error, and what to do about it.

import { Alert, Anchor, Button, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Check, Play } from "lucide-react";
import { api, client, refresh } from "../../api/client";
import { useHasRole, useSession } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { notifyDone, useAction } from "../../kit/useAction";
import { CopyButton } from "../../kit/Copy";
import { Timestamp } from "../../kit/Timestamp";
import { Status } from "../../kit/Status";
import { escapeInvisible } from "../../kit/format";
import { useKeyActions } from "./keyActions";
import { type Failing, type Item, titleOf } from "./items";
import { t } from "../../strings";

type Props = { failing: Failing; onAnswered: () => void };

export function FailurePane({ failing, onAnswered }: Props) {
  const paused = failing.state === "paused" && failing.paused_reason === "failures";
  const item: Item = { kind: "failure", id: failing.id, at: failing.updated_at, failing };
  return (
    <Stack gap="md">
      <Group gap="xs">
        <Title order={2} size="h4" className="wrap-anywhere">
          {escapeInvisible(titleOf(item))}
        </Title>
        <Status
          value={paused ? "paused" : failing.state}
          label={paused ? t.inbox.pausedAfterFailures : undefined}
        />
      </Group>
      <Text size="sm" c="dimmed">
        {failing.failures === 1
          ? t.inbox.theLatestTriggeredRunFailed
          : t.inbox.theLatestTriggeredRunsFailed(failing.failures)}{"  "}
        {paused ? t.inbox.itsTriggersAreOffUntil : t.inbox.itIsStillActiveIt}
      </Text>
      {failing.last_run ? <LastFailure runId={failing.last_run.id} /> : null}
      <FailureActions failing={failing} paused={paused} onAnswered={onAnswered} />
    </Stack>
  );
}

type RunError = { detail?: string; suggestion?: string; step?: string } | null;

function LastFailure({ runId }: { runId: string }) {
  const run = api.useQuery("get", "/api/v1/runs/{run_id}", {
    params: { path: { run_id: runId } },
  });
  return (
    <QueryResult of={run} lines={2}>
      {(found) => {
        const error = found.error as RunError;
        return (
          <Stack gap="xs">
            <Group gap="xs">
              <Status value={found.status} />
              <Anchor component={Link} to={`/runs/${found.id}`} size="sm">
                {t.inbox.itsLatestRun}
              </Anchor>
              <Timestamp at={found.finished_at ?? found.created_at} />
            </Group>
            {error?.detail
              ? (
                <Alert color="red" role="note">
                  <Text size="sm" className="wrap-anywhere">
                    {escapeInvisible(error.detail)}
                  </Text>
                  {error.suggestion
                    ? <Text size="sm" mt={4}>{escapeInvisible(error.suggestion)}</Text>
                    : null}
                </Alert>
              )
              : null}
            {error
              ? (
                <Group>
                  <CopyButton
                    text={JSON.stringify(error, null, 2)}
                    label={t.inbox.copyTheProblem}
                  />
                </Group>
              )
              : null}
          </Stack>
        );
      }}
    </QueryResult>
  );
}

function FailureActions({ failing, paused, onAnswered }: Props & { paused: boolean }) {
  const who = useSession();
  const mayKnow = useHasRole("operator");
  const mayActivate = useHasRole("editor");
  const { busy, act } = useAction();
  const path = { automation_id: failing.id };
  const done = async () => {
    await refresh("/api/v1/automations");
    onAnswered();
  };
  const know = () =>
    act(async () => {
      await client.POST("/api/v1/automations/{automation_id}/acknowledge", {
        params: { path },
      });
      await done();
    }, t.inbox.acknowledgedYouAreNotifiedOf);
  const activate = () =>
    act(async () => {
      const { data } = await client.POST("/api/v1/automations/{automation_id}/activate", {
        params: { path },
      });
      await done();
      const text = [
        t.inbox.activeAgain,
        ...data!.warnings.map((one) => one.detail),
      ];
      notifyDone(text.join(" "));
    });
  useKeyActions(mayKnow ? { approve: () => void know() } : null);
  if (!mayKnow) {
    return <Text size="sm" c="dimmed">{t.inbox.yourRoleCanOnlyView(who.role)}</Text>;
  }
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Button
          leftSection={<Check size={15} />}
          loading={busy}
          onClick={() => void know()}
        >
          {t.inbox.acknowledge}
        </Button>
        {paused && mayActivate
          ? (
            <Button
              variant="default"
              leftSection={<Play size={14} />}
              disabled={busy}
              onClick={() => void activate()}
            >
              {t.inbox.activateAgain}
            </Button>
          )
          : null}
        <Button variant="default" component={Link} to={`/automations/${failing.id}`}>
          {t.inbox.openTheAutomation}
        </Button>
      </Group>
      <Text size="xs" c="dimmed">{t.inbox.acknowledgingResetsTheFailureCount(paused)}</Text>
    </Stack>
  );
}
