// Replaying a run, with the same or changed inputs.

import { Button, Group, Modal, SegmentedControl, Select, Stack, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { useRawResponse } from "../../api/rawResponse";
import { CodeEditor } from "../../code";
import { ProblemNote, QueryResult } from "../../kit/QueryResult";
import { notifyDone } from "../../kit/useAction";
import { indentJson, rawValue } from "../../kit/exactJson";
import type { Followed } from "./liveRun";
import { type Edited, replayOf } from "./replayRequest";
import { t } from "../../strings";

const MODES = [
  { value: "live", label: t.run.live },
  { value: "verify", label: t.run.verifyModeNothingIsSent },
  { value: "dry_run", label: t.run.dryRunNothingIsChanged },
];

function Field(
  { label, text, set, wrong }: {
    label: string;
    text: string;
    set: (text: string) => void;
    wrong?: string;
  },
) {
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>{label}</Text>
      <CodeEditor value={text} label={label} language="json" onChange={set} most={220} />
      {wrong ? <Text size="sm" c="red" mt={4} role="alert">{wrong}</Text> : null}
    </div>
  );
}

// The raw JSON: parsing and serializing would change long numbers.
const spelled = (text: string, key: string) => {
  const part = rawValue(text, key);
  return part === null || part === "null" ? "{}" : indentJson(part);
};

type FormProps = { run: Followed; text: string; close: () => void };

function Form({ run, text, close }: FormProps) {
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [before] = useState<Edited>(() => ({
    inputs: spelled(text, "inputs"),
    payload: spelled(text, "payload"),
    version: "same",
    mode: run.mode,
  }));
  const [edited, setEdited] = useState(before);
  const set = (change: Partial<Edited>) => setEdited((now) => ({ ...now, ...change }));
  const { body, wrong } = replayOf(before, edited);
  const start = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const params = { path: { run_id: run.id } };
      const { data } = await client.POST("/api/v1/runs/{run_id}/replay", { params, body });
      void refresh("/api/v1/runs");
      close();
      notifyDone(t.run.theReplayStarted);
      if (data) await navigate({ to: `/runs/${data.run_id}` });
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  return (
    <Stack>
      <Text size="sm" c="dimmed">{t.run.aNewRunStartsAt}</Text>
      <Group grow align="flex-start">
        <div>
          <Text size="sm" fw={600} mb={4} id="replay-version">{t.run.version}</Text>
          <SegmentedControl
            fullWidth
            aria-labelledby="replay-version"
            value={edited.version}
            onChange={(version) => set({ version: version as Edited["version"] })}
            data={[{ value: "same", label: t.run.sameAsBefore(run.version) }, {
              value: "active",
              label: t.run.activeVersion,
            }]}
          />
        </div>
        <Select
          label={t.run.mode}
          data={MODES}
          value={edited.mode}
          allowDeselect={false}
          onChange={(mode) => set({ mode: (mode ?? "live") as Edited["mode"] })}
        />
      </Group>
      <Field
        label={t.run.inputs}
        text={edited.inputs}
        set={(inputs) => set({ inputs })}
        wrong={wrong.inputs}
      />
      <Field
        label={t.run.payload}
        text={edited.payload}
        set={(payload) => set({ payload })}
        wrong={wrong.payload}
      />
      <Text size="xs" c="dimmed">{t.run.ifYouChangeThePayload}</Text>
      {problem ? <ProblemNote problem={problem} /> : null}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={close}>{t.run.cancel}</Button>
        <Button onClick={() => void start()} loading={busy} disabled={!body}>
          {t.run.startTheReplay}
        </Button>
      </Group>
    </Stack>
  );
}

export function Replay(
  { run, opened, close }: { run: Followed; opened: boolean; close: () => void },
) {
  const written = useRawResponse(`/api/v1/runs/${run.id}`, { enabled: opened });
  return (
    <Modal opened={opened} onClose={close} title={t.run.replayThisRun} size="lg">
      {opened
        ? (
          <QueryResult of={written}>
            {(text) => <Form run={run} text={text} close={close} />}
          </QueryResult>
        )
        : null}
    </Modal>
  );
}
