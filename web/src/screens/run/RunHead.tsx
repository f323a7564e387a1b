// The header of a run: its result and actions.

import { Anchor, Badge, Button, Menu, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Ban, ChevronDown, CirclePlay, Link2, PencilLine, RotateCcw } from "lucide-react";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { useConnected } from "../../api/live";
import { useHasRole } from "../../api/session";
import { notifyDone, useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { CopyAs } from "../../kit/Copy";
import { PageHead } from "../../kit/PageHead";
import { Status } from "../../kit/Status";
import {
  capitalize,
  describeMode,
  formatDateTime,
  formatDuration,
  formatUsd,
  humanize,
  isOver,
  runStatus,
} from "../../kit/format";
import { AutomationHaltBanner } from "../health/HaltControls";
import type { Followed } from "./liveRun";
import { PersonNeeded, questionOf } from "./PersonNeeded";
import { Replay } from "./Replay";
import { runDuration } from "./timeline";
import { ErrorDetails } from "./ErrorDetails";
import { t } from "../../strings";

const STARTED: Record<string, string> = {
  manual: t.run.startedManually,
  schedule: t.run.startedByItsSchedule,
  webhook: t.run.startedByItsWebhook,
  event: t.run.startedByAnEvent,
};

function Facts({ run, now }: { run: Followed; now: number }) {
  const took = runDuration(run, now);
  const lasted = took === null ? null : formatDuration(took);
  const texts = [
    run.replay_of
      ? t.run.aReplay
      : capitalize(STARTED[run.trigger_type] ?? t.run.startedBy(humanize(run.trigger_type))),
    formatDateTime(run.created_at),
    lasted ? `${isOver(run.status) ? t.run.took : t.run.for} ${lasted}` : null,
    run.cost_usd ? formatUsd(run.cost_usd) : null,
    run.attempt > 1 ? t.run.resumedTime(run.attempt - 1) : null,
  ];
  return (
    <>
      <span className="numbers">{texts.filter(Boolean).join(" · ")}</span>
      {" · "}
      <Anchor
        component={Link}
        to={`/automations/${run.automation_id}/versions?version=${run.version}`}
        size="sm"
        underline="always"
      >
        {t.run.version2(run.version)}
      </Anchor>
    </>
  );
}

function useRunActions(run: Followed) {
  const { busy, act } = useAction();
  const confirm = useConfirm();
  const params = { path: { run_id: run.id } };
  const cancel = async () => {
    const yes = await confirm({
      title: t.run.cancelThisRun,
      message: t.run.completedStepsStayCompletedYou,
      yes: t.run.cancelRun,
      dangerous: true,
    });
    if (yes) {
      await act(async () => {
        await client.POST("/api/v1/runs/{run_id}/cancel", { params });
        await refresh("/api/v1/runs");
      }, t.run.cancellingTheRun);
    }
  };
  const retry = () =>
    act(async () => {
      await client.POST("/api/v1/runs/{run_id}/retry", { params });
      await refresh("/api/v1/runs");
    }, t.run.retryingFromTheFailedStep);
  return { busy, cancel, retry };
}

function RunActions({ run }: { run: Followed }) {
  const may = useHasRole("operator");
  const mayEdit = useHasRole("editor");
  const [replaying, setReplaying] = useState(false);
  const { busy, cancel, retry } = useRunActions(run);
  const next = run.story.next;
  const path = `/api/v1/runs/${run.id}`;
  const copyLink = async () => {
    await navigator.clipboard.writeText(location.href);
    notifyDone(t.run.linkCopied);
  };
  return (
    <>
      {may && !isOver(run.status)
        ? (
          <Button
            variant="default"
            leftSection={<Ban size={16} />}
            loading={busy}
            onClick={() => void cancel()}
          >
            {t.run.cancel}
          </Button>
        )
        : null}
      {may && isOver(run.status) && next.includes("retry")
        ? (
          <Button
            leftSection={<CirclePlay size={16} />}
            loading={busy}
            onClick={() => void retry()}
          >
            {t.run.retryFromTheFailedStep}
          </Button>
        )
        : null}
      {may && isOver(run.status)
        ? (
          <Button
            variant="default"
            leftSection={<RotateCcw size={16} />}
            onClick={() => setReplaying(true)}
          >
            {t.run.replay}
          </Button>
        )
        : null}
      <Menu position="bottom-end" shadow="md">
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronDown size={14} />}>{t.run.more}</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {mayEdit
            ? (
              <Menu.Item
                component={Link}
                to={`/automations/${run.automation_id}/edit?run=${run.id}`}
                leftSection={<PencilLine size={15} />}
              >
                {t.run.openInTheEditor}
              </Menu.Item>
            )
            : null}
          <Menu.Item leftSection={<Link2 size={15} />} onClick={() => void copyLink()}>
            {t.run.copyTheLinkToThis}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <CopyAs
        operations={[
          { label: t.run.readThisRun, operation: { method: "GET", path } },
          {
            label: t.run.replayIt,
            operation: {
              method: "POST",
              path: `${path}/replay`,
              body: { version: "same" },
            },
          },
          { label: t.run.watchIt, operation: { method: "GET", path: `${path}/stream` } },
        ]}
      />
      <Replay run={run} opened={replaying} close={() => setReplaying(false)} />
    </>
  );
}

function Broken({ run, choose }: { run: Followed; choose: (key: string) => void }) {
  const { story } = run;
  if (!run.error) return null;
  const about = {
    run: run.id,
    automation: run.automation,
    version: run.version,
    step: story.step ?? null,
  };
  return (
    <ErrorDetails error={run.error} about={about}>
      {story.step
        ? (
          <Button size="compact-sm" variant="default" onClick={() => choose(story.step!)}>
            {t.run.goTo(story.step)}
          </Button>
        )
        : null}
    </ErrorDetails>
  );
}

export function RunHead(
  { run, now, chosen, choose }: {
    run: Followed;
    now: number;
    chosen: string | null;
    choose: (key: string) => void;
  },
) {
  const connected = useConnected();
  const mode = describeMode(run.mode);
  const { story } = run;
  // The failed step shows its problem itself while it is selected.
  const apart = run.error && (!story.step || chosen !== story.step);
  const headline = run.halted && run.status !== "running"
    ? t.run.itIsHalted
    : questionOf(run)
    ? t.run.itWaitsForAnAnswer
    : story.headline;
  // The banner of the halt shows its reason.
  const because = apart || run.halted ? null : story.because;
  const text = [headline, story.trial, because].filter(Boolean).join(" ");
  return (
    <>
      <PageHead
        title={run.automation}
        back={{
          to: `/automations/${run.automation_id}/runs`,
          label: t.run.runsOfThisAutomation,
        }}
        beside={
          <>
            <Status value={runStatus(run)} />
            {mode
              ? (
                <Badge variant="outline" color="gray" radius="sm" tt="none">
                  {mode}
                </Badge>
              )
              : null}
          </>
        }
        sub={<Facts run={run} now={now} />}
        right={<RunActions run={run} />}
      />
      <Text mb="md" fz="lg" fw={500} className="wrap-anywhere" role="status">{text}</Text>
      {run.halted ? <AutomationHaltBanner id={run.automation_id} reason={run.halted} /> : null}
      <PersonNeeded run={run} />
      {apart
        ? (
          <div style={{ marginBottom: 16 }}>
            <Broken run={run} choose={choose} />
          </div>
        )
        : null}
      {!connected && !isOver(run.status)
        ? <Text size="sm" c="dimmed" mb="sm">{t.run.disconnectedLiveUpdatesContinue}</Text>
        : null}
    </>
  );
}
