// What a run needs from a person: an answer before it continues, or an approval before something is
// sent.

import { Alert, Button, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Hourglass } from "lucide-react";
import { api, refresh } from "../../api/client";
import { useLive } from "../../api/live";
import { isOver } from "../../kit/format";
import { draftOf } from "./Calls";
import type { Followed } from "./liveRun";
import type { Timed } from "./timeline";
import { t } from "../../strings";

/** The unanswered drafts of a run. */
function useWaitingDrafts(drafts: string[]): string[] {
  const query = api.useQuery("get", "/api/v1/drafts", {
    params: { query: { status: "pending", limit: 100 } },
  }, { enabled: drafts.length > 0 });
  useLive(({ kind }) => {
    if (kind === "inbox" && drafts.length) void refresh("/api/v1/drafts");
  });
  const waiting = new Set(query.data?.items.map((one) => one.id));
  return drafts.filter((one) => waiting.has(one));
}

/** The question that it waits for, if any. */
export function questionOf(run: Followed): string | null {
  if (isOver(run.status)) return null;
  const ids = run.steps.filter((one) => one.status === "waiting")
    .map((one) => (one.output as { approval_id?: string } | null)?.approval_id);
  return ids.find(Boolean) ?? null;
}

/** The drafts that it waits for: it continues once they are approved or discarded. */
export function awaitedOf(run: Pick<Timed, "status" | "steps">): string[] {
  if (isOver(run.status)) return [];
  return run.steps.filter((one) => one.status === "waiting")
    .map((one) => (one.output as { draft_id?: string } | null)?.draft_id)
    .filter((id): id is string => Boolean(id));
}

function describeDraft(awaited: number, drafts: number): string {
  if (awaited) {
    return t.run.itWaitsForApprovalOf(awaited);
  }
  return t.run.draftNeedsApprovalNothingIs(drafts);
}

/** Where a person must act before it continues, or before something is sent. */
export function PersonNeeded({ run }: { run: Followed }) {
  const question = questionOf(run);
  const drafts = useWaitingDrafts(run.calls.flatMap((call) => draftOf(call) ?? []));
  const awaited = awaitedOf(run).filter((one) => drafts.includes(one));
  if (!question && !drafts.length) return null;
  const text = question
    ? t.run.theRunContinuesAfterSomeone
    : describeDraft(awaited.length, drafts.length);
  return (
    <Alert mb="md" color="yellow" variant="light" icon={<Hourglass size={16} />}>
      <Group justify="space-between">
        <Text size="sm">{text}</Text>
        <Button
          component={Link}
          to={question ? `/inbox?item=${question}` : `/inbox?draft=${awaited[0] ?? drafts[0]}`}
          size="compact-md"
          variant="default"
        >
          {question ? t.run.answer : t.run.openInTheInbox}
        </Button>
      </Group>
    </Alert>
  );
}
