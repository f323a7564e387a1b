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
  formatCount,
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

const STARTED: Record<string, string> = {
  manual: "started manually",
  schedule: "started by its schedule",
  webhook: "started by its webhook",
  event: "started by an event",
};

function Facts({ run, now }: { run: Followed; now: number }) {
  const took = runDuration(run, now);
  const lasted = took === null ? null : formatDuration(took);
  const texts = [
    run.replay_of
      ? "a replay"
      : capitalize(STARTED[run.trigger_type] ?? `started by ${humanize(run.trigger_type)}`),
    formatDateTime(run.created_at),
    lasted ? `${isOver(run.status) ? "took" : "for"} ${lasted}` : null,
    run.cost_usd ? formatUsd(run.cost_usd) : null,
    run.attempt > 1 ? `taken up ${formatCount(run.attempt - 1, "time")} again` : null,
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
        version {run.version}
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
      title: "Stop this run?",
      message: "What it has done so far stays done. It can be gone on with later.",
      yes: "Stop it",
      dangerous: true,
    });
    if (yes) {
      await act(async () => {
        await client.POST("/api/v1/runs/{run_id}/cancel", { params });
        await refresh("/api/v1/runs");
      }, "The run is being stopped.");
    }
  };
  const retry = () =>
    act(async () => {
      await client.POST("/api/v1/runs/{run_id}/retry", { params });
      await refresh("/api/v1/runs");
    }, "It goes on from the step that failed.");
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
    notifyDone("The link is copied.");
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
            Cancel
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
            Retry from the failed step
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
            Replay
          </Button>
        )
        : null}
      <Menu position="bottom-end" shadow="md">
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronDown size={14} />}>More</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {mayEdit
            ? (
              <Menu.Item
                component={Link}
                to={`/automations/${run.automation_id}/edit?run=${run.id}`}
                leftSection={<PencilLine size={15} />}
              >
                Load into the editor
              </Menu.Item>
            )
            : null}
          <Menu.Item leftSection={<Link2 size={15} />} onClick={() => void copyLink()}>
            Copy the link to this view
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <CopyAs
        operations={[
          { label: "Read this run", operation: { method: "GET", path } },
          {
            label: "Replay it",
            operation: {
              method: "POST",
              path: `${path}/replay`,
              body: { version: "same" },
            },
          },
          { label: "Watch it", operation: { method: "GET", path: `${path}/stream` } },
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
            Look at {story.step}
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
    ? "It is held."
    : questionOf(run)
    ? "It waits for a person's answer."
    : story.headline;
  const text = [headline, story.trial, apart ? null : story.because].filter(Boolean).join(
    " ",
  );
  return (
    <>
      <PageHead
        title={run.automation}
        back={{
          to: `/automations/${run.automation_id}/runs`,
          label: "Runs of this automation",
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
        ? (
          <Text size="sm" c="dimmed" mb="sm">
            The connection is gone; what happens now shows up when it is back.
          </Text>
        )
        : null}
    </>
  );
}
