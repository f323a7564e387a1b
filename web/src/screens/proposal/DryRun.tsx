// A dry run, to see the effects before activation.

import { Alert, Anchor, Group, Loader, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { api, client } from "../../api/client";
import { useLive } from "../../api/live";
import { ProblemNote } from "../../kit/QueryResult";
import { Status } from "../../kit/Status";
import { capitalize, describeOutcome, isOver, runStatus } from "../../kit/format";
import { t } from "../../strings";

const LOOK_AGAIN_MS = 1500;

function Watched({ runId }: { runId: string }) {
  const run = api.useQuery("get", "/api/v1/runs/{run_id}", {
    params: { path: { run_id: runId } },
  }, {
    refetchInterval: (
      { state },
    ) => (state.data && isOver(state.data.status) ? false : LOOK_AGAIN_MS),
  });
  useLive(({ kind, data }) => {
    if (kind === "run" && (data.run_id ?? data.id) === runId) void run.refetch();
  });
  const status = run.data?.status ?? "pending";
  return (
    <Alert color="gray" variant="light" role="status">
      <Group gap="sm">
        {isOver(status) ? null : <Loader size="xs" />}
        <Text size="sm">
          {isOver(status) ? t.proposal.theDryRunEnded : t.proposal.theDryRunIsRunning}
        </Text>
        <Status value={run.data ? runStatus(run.data) : status} />
        {isOver(status) && run.data?.outcome
          ? <Text size="sm">{capitalize(describeOutcome(run.data.outcome))}.</Text>
          : null}
        <Anchor component={Link} to="/runs/$runId" params={{ runId } as never} size="sm">
          {t.proposal.showWhatItWouldDo}
        </Anchor>
      </Group>
    </Alert>
  );
}

export function DryRun({ automationId }: { automationId: string }) {
  const [runId, setRunId] = useState<string | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const begun = useRef(false);
  useEffect(() => {
    // React runs effects twice in development; the run is started once.
    if (begun.current) return;
    begun.current = true;
    client.POST("/api/v1/automations/{automation_id}/run", {
      params: { path: { automation_id: automationId } },
      body: { dry_run: true, verify_mode: false },
    }).then(({ data }) => setRunId(data!.run_id), setProblem);
  }, [automationId]);
  if (problem) return <ProblemNote problem={problem} />;
  return runId ? <Watched runId={runId} /> : <Loader size="sm" aria-label={t.proposal.starting} />;
}
