// The origin of an inbox item, who may answer it, and until when.

import { Anchor, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { api } from "../../api/client";
import { useSession } from "../../api/session";
import { Timestamp } from "../../kit/Timestamp";
import { escapeInvisible, formatCount, formatDuration } from "../../kit/format";
import { Lines } from "../../previews/Value";
import type { Draft } from "./items";

const ONE_SECOND = 1000;

/** The remaining time, counted down while visible. */
export function Until({ at, over }: { at: string; over: string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ONE_SECOND);
    return () => clearInterval(timer);
  }, []);
  const left = (new Date(at).getTime() - now) / ONE_SECOND;
  return (
    <Text span size="sm" display="block" className="numbers">
      {left > 0 ? `in ${formatDuration(left)}` : over}
    </Text>
  );
}

export function RunLinks({ runId, step }: { runId: string; step?: string | null }) {
  const run = api.useQuery("get", "/api/v1/runs/{run_id}", {
    params: { path: { run_id: runId } },
  }, {
    staleTime: 300_000,
    throwOnError: false,
  });
  return (
    <Text span size="sm" className="wrap-anywhere">
      {run.data
        ? (
          <Anchor
            component={Link}
            to={`/automations/${run.data.automation_id}`}
            size="sm"
          >
            {escapeInvisible(run.data.automation)}
          </Anchor>
        )
        : "An automation"}
      {", in "}
      <Anchor component={Link} to={`/runs/${runId}`} size="sm">this run</Anchor>
      {step
        ? (
          <>
            , step <span className="mono">{escapeInvisible(step)}</span>
          </>
        )
        : null}
    </Text>
  );
}

function useAsker(draft: Draft): string {
  const who = useSession();
  const own = draft.actor_id === who.user.id;
  if (draft.actor_kind === "client") {
    return own ? "A program of yours" : "A program of another member";
  }
  return own ? "You" : "Another member";
}

const ROLES_OR_MORE = "Anybody who is operator or more";

/** Who must approve a draft, by the workspace's policy. */
export function useApprovers(draft: Draft): string {
  const policy = api.useQuery("get", "/api/v1/approval-policy", {}, { staleTime: 60_000 }).data;
  const whom = policy?.roles.length ? `People who are ${policy.roles.join(" or ")}` : ROLES_OR_MORE;
  const own = !draft.run_id ? "The person who asked for it" : whom;
  const several = policy && policy.approvers > 1
    ? `; ${formatCount(policy.approvers, "person", "people")} must agree, ${draft.approvals} have`
    : draft.approvals
    ? `; ${draft.approvals} agreed to these words`
    : "";
  const author = policy && !policy.author_may_approve ? "; not the person who wrote it" : "";
  return own + several + author;
}

export function Origin({ draft }: { draft: Draft }) {
  const asker = useAsker(draft);
  const approvers = useApprovers(draft);
  const waits = draft.status === "pending";
  const text = (content: ReactNode) => (
    <Text size="sm" className="wrap-anywhere" component="div">{content}</Text>
  );
  const lines = [
    {
      name: "asked by",
      value: (
        <Group gap={6}>
          {draft.run_id ? <RunLinks runId={draft.run_id} step={draft.step} /> : text(asker)}
          <Text span size="sm" c="dimmed">
            <Timestamp at={draft.created_at} />
          </Text>
        </Group>
      ),
    },
    {
      name: "sent by",
      value: text(
        <>
          <span className="mono">{draft.action}</span>
          {draft.account ? ` as ${escapeInvisible(draft.account)}` : ""}
        </>,
      ),
    },
    ...(waits ? [{ name: "may approve", value: text(approvers) }] : []),
    ...(waits ? [{ name: "expires", value: <Until at={draft.expires_at} over="expired" /> }] : []),
    ...(waits && draft.awaited
      ? [{ name: "its run", value: text("waits for your answer and then continues") }]
      : []),
    ...(draft.redraft_of
      ? [{
        name: "repeats",
        value: (
          <Anchor
            component={Link}
            to="/inbox"
            search={{ draft: draft.redraft_of } as never}
            size="sm"
          >
            an earlier draft
          </Anchor>
        ),
      }]
      : []),
  ];
  return <Lines lines={lines} />;
}
