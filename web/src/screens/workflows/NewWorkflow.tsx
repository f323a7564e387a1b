// Creating a workflow: only the title is required.

import {
  Button,
  Checkbox,
  Group,
  Modal,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { client } from "../../api/client";
import { byPointer, Problem } from "../../api/problem";
import { ProblemNote } from "../../kit/QueryResult";
import { refreshAll } from "./mutations";
import { type Deadline, type Template, TEMPLATES, zoneHere } from "./progress";
import {
  asDeadlines,
  asKpis,
  DeadlineLines,
  KpiLines,
  NEW_DEADLINE,
  NEW_KPI,
  type WrittenKpi,
} from "./Lines";
import { t } from "../../strings";

const EMPTY = {
  title: "",
  charter: "",
  kpis: [NEW_KPI] as WrittenKpi[],
  deadlines: [NEW_DEADLINE] as Deadline[],
  templates: [] as string[],
  board: true,
};
type Written = typeof EMPTY;

async function make(given: Written): Promise<string | undefined> {
  const { data } = await client.POST("/api/v1/workflows", {
    body: {
      title: given.title.trim(),
      ...(given.charter.trim() ? { charter: given.charter.trim() } : {}),
      kpis: asKpis(given.kpis),
      deadlines: asDeadlines(given.deadlines),
      ...(given.board && given.templates.length
        ? { templates: given.templates as Template[], timezone: zoneHere() }
        : {}),
      make_board: given.board,
    },
  });
  await refreshAll();
  return data?.id;
}

export function NewWorkflow({ opened, close }: { opened: boolean; close: () => void }) {
  const [given, setGiven] = useState(EMPTY);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const id = await make(given);
      if (id) await navigate({ to: `/workflows/${id}` });
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened={opened} onClose={close} title={t.workflows.newProject} size="lg" centered>
      <form onSubmit={(event) => void submit(event)} aria-label={t.workflows.newProject}>
        <Stack>
          <Fields
            given={given}
            change={(more) => setGiven((before) => ({ ...before, ...more }))}
            errors={problem instanceof Problem ? byPointer(problem.findings) : {}}
          />
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>{t.workflows.cancel}</Button>
            <Button type="submit" loading={busy}>{t.workflows.createProject}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

type FieldProps = {
  given: Written;
  change: (more: Partial<Written>) => void;
  errors: Record<string, string>;
};

function Fields({ given, change, errors }: FieldProps) {
  return (
    <>
      <TextInput
        label={t.workflows.title}
        required
        maxLength={200}
        placeholder={t.workflows.launch}
        value={given.title}
        error={errors["/title"]}
        onChange={(event) => change({ title: event.currentTarget.value })}
        data-autofocus
      />
      <Textarea
        label={t.workflows.charter}
        description={t.workflows.itsGoalAndWhenIt}
        autosize
        minRows={2}
        maxRows={10}
        placeholder={t.workflows.reachTheFirstHundredCustomers}
        value={given.charter}
        error={errors["/charter"]}
        onChange={(event) => change({ charter: event.currentTarget.value })}
      />
      <Stack gap={4}>
        <Text size="sm" fw={500}>{t.workflows.kpisNameTargetUnitAnd}</Text>
        <KpiLines
          lines={given.kpis}
          set={(kpis) => change({ kpis })}
          error={(at) => errors[at]}
        />
      </Stack>
      <Stack gap={4}>
        <Text size="sm" fw={500}>{t.workflows.deadlines}</Text>
        <DeadlineLines
          lines={given.deadlines}
          set={(deadlines) => change({ deadlines })}
          error={(at) => errors[at]}
        />
      </Stack>
      <Switch
        label={t.workflows.createABoardForIt}
        description={t.workflows.withTasksProgressAndReminders}
        checked={given.board}
        onChange={(event) => change({ board: event.currentTarget.checked })}
      />
      {given.board
        ? (
          <Checkbox.Group
            label={t.workflows.automationsToCreate}
            description={t.workflows.theyUseNoModelAnd}
            value={given.templates}
            onChange={(templates) => change({ templates })}
          >
            <Stack gap="xs" mt="xs">
              {TEMPLATES.map((one) => <Checkbox key={one.value} {...one} />)}
            </Stack>
          </Checkbox.Group>
        )
        : null}
    </>
  );
}
