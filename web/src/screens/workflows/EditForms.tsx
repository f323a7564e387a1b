// Editing one part of a workflow: rejected input stays in the form, with the error.

import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";
import { byPointer, Problem } from "../../api/problem";
import { ProblemNote } from "../../kit/QueryResult";
import { type Change, changeWorkflow } from "./mutations";
import type { Deadline, WorkflowDetail } from "./progress";
import { asDeadlines, asKpis, DeadlineLines, KpiLines, NEW_DEADLINE, NEW_KPI } from "./Lines";

type Errors = Record<string, string>;
type Props = { held: WorkflowDetail; onClose: () => void };
type FrameProps = Props & {
  title: string;
  change: () => Change;
  children: (errors: Errors) => ReactNode;
};

function Frame({ held, title, onClose, change, children }: FrameProps) {
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const errors = problem instanceof Problem ? byPointer(problem.findings) : {};
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await changeWorkflow(held, change());
      onClose();
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened onClose={onClose} title={title} size="lg" centered>
      <form onSubmit={(event) => void submit(event)} aria-label={title}>
        <Stack>
          {children(errors)}
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={busy}>Save</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

export function EditCharter({ held, onClose }: Props) {
  const [title, setTitle] = useState(held.title);
  const [charter, setCharter] = useState(held.charter);
  return (
    <Frame
      held={held}
      onClose={onClose}
      title="Title and charter"
      change={() => ({ title: title.trim(), charter })}
    >
      {(errors) => (
        <>
          <TextInput
            label="Title"
            required
            maxLength={200}
            value={title}
            error={errors["/title"]}
            onChange={(event) => setTitle(event.currentTarget.value)}
            data-autofocus
          />
          <Textarea
            label="Charter"
            description="What it is for, and when it is done."
            autosize
            minRows={4}
            maxRows={16}
            maxLength={20_000}
            value={charter}
            error={errors["/charter"]}
            onChange={(event) => setCharter(event.currentTarget.value)}
          />
        </>
      )}
    </Frame>
  );
}

export function EditKpis({ held, onClose }: Props) {
  const [lines, setLines] = useState(() => held.kpis.length ? [...held.kpis] : [NEW_KPI]);
  return (
    <Frame
      held={held}
      onClose={onClose}
      title="KPIs"
      change={() => ({ kpis: asKpis(lines) })}
    >
      {(errors) => (
        <>
          <Text size="sm" c="dimmed">
            A name, a number to reach, what it counts, and by which day. Without a day of its own, a
            KPI ends with the last deadline of the workflow.
          </Text>
          <KpiLines lines={lines} set={setLines} error={(at) => errors[at]} />
        </>
      )}
    </Frame>
  );
}

export function EditDeadlines({ held, onClose }: Props) {
  const [lines, setLines] = useState<Deadline[]>(() =>
    held.deadlines.length ? [...held.deadlines] : [NEW_DEADLINE]
  );
  return (
    <Frame
      held={held}
      onClose={onClose}
      title="Deadlines"
      change={() => ({ deadlines: asDeadlines(lines) })}
    >
      {(errors) => <DeadlineLines lines={lines} set={setLines} error={(at) => errors[at]} />}
    </Frame>
  );
}
