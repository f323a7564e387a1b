// Editing one part of a workflow: rejected input stays in the form, with the error.

import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";
import { byPointer, Problem } from "../../api/problem";
import { ProblemNote } from "../../kit/QueryResult";
import { type Change, changeWorkflow } from "./mutations";
import type { Deadline, WorkflowDetail } from "./progress";
import { asDeadlines, asKpis, DeadlineLines, KpiLines, NEW_DEADLINE, NEW_KPI } from "./Lines";
import { t } from "../../strings";

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
            <Button variant="default" onClick={onClose}>{t.workflows.cancel}</Button>
            <Button type="submit" loading={busy}>{t.workflows.save}</Button>
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
      title={t.workflows.titleAndCharter}
      change={() => ({ title: title.trim(), charter })}
    >
      {(errors) => (
        <>
          <TextInput
            label={t.workflows.title}
            required
            maxLength={200}
            value={title}
            error={errors["/title"]}
            onChange={(event) => setTitle(event.currentTarget.value)}
            data-autofocus
          />
          <Textarea
            label={t.workflows.charter}
            description={t.workflows.itsGoalAndWhenIt}
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
      title={t.workflows.kpis}
      change={() => ({ kpis: asKpis(lines) })}
    >
      {(errors) => (
        <>
          <Text size="sm" c="dimmed">{t.workflows.aNameATargetA}</Text>
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
      title={t.workflows.deadlines}
      change={() => ({ deadlines: asDeadlines(lines) })}
    >
      {(errors) => <DeadlineLines lines={lines} set={setLines} error={(at) => errors[at]} />}
    </Frame>
  );
}
