// The origin of an inbox item, who may answer it, and until when.

import { Anchor, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { api } from "../../api/client";
import { useSession } from "../../api/session";
import { Timestamp } from "../../kit/Timestamp";
import { escapeInvisible, formatDuration } from "../../kit/format";
import { Lines } from "../../previews/Value";
import type { Draft } from "./items";
import { t } from "../../strings";

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
      {left > 0 ? t.inbox.in(formatDuration(left)) : over}
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
        : t.inbox.anAutomation}
      {t.inbox.in2}
      <Anchor component={Link} to={`/runs/${runId}`} size="sm">{t.inbox.thisRun}</Anchor>
      {step ? <>{t.inbox.step(<span className="mono">{escapeInvisible(step)}</span>)}</> : null}
    </Text>
  );
}

function useAsker(draft: Draft): string {
  const who = useSession();
  const own = draft.actor_id === who.user.id;
  if (draft.actor_kind === "client") {
    return own ? t.inbox.oneOfYourPrograms : t.inbox.anotherMembersProgram;
  }
  return own ? t.inbox.you : t.inbox.anotherMember;
}

const ROLES_OR_MORE = t.inbox.anyoneWithTheRoleOperator;

/** Who must approve a draft, by the workspace's policy. */
export function useApprovers(draft: Draft): string {
  const policy = api.useQuery("get", "/api/v1/approval-policy", {}, { staleTime: 60_000 }).data;
  const whom = policy?.roles.length
    ? t.inbox.membersWithTheRole(policy.roles.join(" or "))
    : ROLES_OR_MORE;
  const own = !draft.run_id ? t.inbox.thePersonWhoRequestedIt : whom;
  const several = policy && policy.approvers > 1
    ? t.inbox.approvalRequiredGiven(policy.approvers, draft.approvals)
    : draft.approvals
    ? t.inbox.approvedThisText(draft.approvals)
    : "";
  const author = policy && !policy.author_may_approve ? t.inbox.notTheAuthor : "";
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
      name: t.inbox.requestedBy,
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
      name: t.inbox.sentFrom,
      value: text(
        <>
          <span className="mono">{draft.action}</span>
          {draft.account ? t.inbox.as(escapeInvisible(draft.account)) : ""}
        </>,
      ),
    },
    ...(waits ? [{ name: t.inbox.canApprove, value: text(approvers) }] : []),
    ...(waits ? [{ name: "expires", value: <Until at={draft.expires_at} over="expired" /> }] : []),
    ...(waits && draft.awaited
      ? [{ name: t.inbox.itsRun, value: text(t.inbox.waitsForYourAnswerAnd) }]
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
            {t.inbox.anEarlierDraft}
          </Anchor>
        ),
      }]
      : []),
  ];
  return <Lines lines={lines} />;
}
