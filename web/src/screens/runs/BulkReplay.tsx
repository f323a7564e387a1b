// Replays several failed runs: one confirmation, sequential execution, with progress.

import { Alert, Button, Group, Progress, Text } from "@mantine/core";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { sentence } from "../../api/problem";
import { useConfirm } from "../../kit/Confirm";
import { formatCount } from "../../kit/format";
import type { RunSummary } from "./listQuery";

type Going = { done: number; all: number; problems: string[] };

export function BulkReplay({ runs, clear }: { runs: RunSummary[]; clear: () => void }) {
  const confirm = useConfirm();
  const [going, setGoing] = useState<Going | null>(null);
  const busy = going !== null && going.done < going.all;
  const start = async () => {
    const yes = await confirm({
      title: `Replay ${formatCount(runs.length, "run")}?`,
      message:
        "Each is started once more with what it was given, by the version that is in force " +
        "now. They are new runs: what the first ones sent before they failed may be sent again.",
      yes: "Replay them",
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
            ? `${going.done} of ${formatCount(going.all, "run")} handed in` +
              (going.problems.length ? `, ${going.problems.length} refused` : "")
            : `${formatCount(runs.length, "failed run")} chosen`}
        </Text>
        <Group gap="xs">
          {going && !busy
            ? (
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => setGoing(null)}
              >
                Close
              </Button>
            )
            : null}
          {runs.length && !busy
            ? (
              <>
                <Button size="compact-sm" variant="default" onClick={clear}>
                  Choose none
                </Button>
                <Button
                  size="compact-sm"
                  leftSection={<RotateCcw size={14} />}
                  onClick={() => void start()}
                >
                  Replay…
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
            aria-label="Runs handed in"
          />
        )
        : null}
      {going?.problems.map((one) => <Text size="sm" key={one} mt={4}>{one}</Text>)}
    </Alert>
  );
}
