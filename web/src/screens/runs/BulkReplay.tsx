// Replays several failed runs: one confirmation, sequential execution, with progress.

import { Alert, Button, Group, Progress, Text } from "@mantine/core";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { sentence } from "../../api/problem";
import { useConfirm } from "../../kit/Confirm";
import type { RunSummary } from "./listQuery";
import { t } from "../../strings";

type Going = { done: number; all: number; problems: string[] };

export function BulkReplay({ runs, clear }: { runs: RunSummary[]; clear: () => void }) {
  const confirm = useConfirm();
  const [going, setGoing] = useState<Going | null>(null);
  const busy = going !== null && going.done < going.all;
  const start = async () => {
    const yes = await confirm({
      title: t.runs.replayRun(runs.length),
      message: t.runs.eachRunStartsAgainWith,
      yes: t.runs.replayThem,
    });
    if (!yes) return;
    const answer: Going = { done: 0, all: runs.length, problems: [] };
    setGoing({ ...answer });
    for (const run of runs) {
      try {
        const params = { path: { run_id: run.id } };
        await client.POST("/api/v1/runs/{run_id}/replay", {
          params,
          body: { version: "active" },
        });
      } catch (problem) {
        answer.problems.push(`${run.automation}: ${sentence(problem)}`);
      }
      answer.done += 1;
      setGoing({ ...answer });
    }
    clear();
    await refresh("/api/v1/runs");
  };
  if (!runs.length && !going) return null;
  return (
    <Alert variant="light" mb="md" role="status">
      <Group justify="space-between">
        <Text size="sm">
          {going
            ? t.runs.ofRunStarted(going.done, going.all) +
              (going.problems.length ? t.runs.rejected(going.problems.length) : "")
            : t.runs.failedRunSelected(runs.length)}
        </Text>
        <Group gap="xs">
          {going && !busy
            ? (
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => setGoing(null)}
              >
                {t.runs.close}
              </Button>
            )
            : null}
          {runs.length && !busy
            ? (
              <>
                <Button size="compact-sm" variant="default" onClick={clear}>
                  {t.runs.clearSelection}
                </Button>
                <Button
                  size="compact-sm"
                  leftSection={<RotateCcw size={14} />}
                  onClick={() => void start()}
                >
                  {t.runs.replay}
                </Button>
              </>
            )
            : null}
        </Group>
      </Group>
      {going
        ? (
          <Progress
            mt="xs"
            value={(going.done / going.all) * 100}
            aria-label={t.runs.runsStarted}
          />
        )
        : null}
      {going?.problems.map((one) => <Text size="sm" key={one} mt={4}>{one}</Text>)}
    </Alert>
  );
}
