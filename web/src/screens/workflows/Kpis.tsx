// The KPIs: progress, trend, and current value.

import { Button, Group, NumberInput, Popover, Progress, Stack, Text } from "@mantine/core";
import { Pencil } from "lucide-react";
import { type FormEvent, useState } from "react";
import { client } from "../../api/client";
import { useAction } from "../../kit/useAction";
import { Status } from "../../kit/Status";
import { escapeInvisible, formatDate } from "../../kit/format";
import { refreshAll } from "./mutations";
import {
  amount,
  daysTo,
  describeDistance,
  type Kpi,
  percentOf,
  todayOf,
  type WorkflowDetail,
} from "./progress";
import { EditKpis } from "./EditForms";
import { Panel } from "./Panel";
import { t } from "../../strings";

export function Kpis({ held, may }: { held: WorkflowDetail; may: boolean }) {
  const [editing, setEditing] = useState(false);
  const slipping = new Set(held.standing?.slipping.map((one) => one.kpi));
  return (
    <Panel
      title={t.workflows.kpis}
      right={may
        ? (
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<Pencil size={13} />}
            onClick={() => setEditing(true)}
            aria-label={t.workflows.editTheKpis}
          >
            {held.kpis.length ? t.workflows.edit : t.workflows.add}
          </Button>
        )
        : null}
    >
      {held.kpis.length
        ? (
          <Stack gap="lg">
            {held.kpis.map((one) => (
              <Row
                key={one.name}
                one={one}
                slips={slipping.has(one.name)}
                set={may ? held.id : null}
              />
            ))}
          </Stack>
        )
        : <Text size="sm" c="dimmed">{t.workflows.addAKpiWithA}</Text>}
      {editing ? <EditKpis held={held} onClose={() => setEditing(false)} /> : null}
    </Panel>
  );
}

function Row({ one, slips, set }: { one: Kpi; slips: boolean; set: string | null }) {
  const percent = percentOf(one);
  const until = one.deadline;
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <Text fw={600} size="sm">{escapeInvisible(one.name)}</Text>
          {percent >= 100 ? <Status value="ok" label={t.workflows.reached} /> : null}
          {slips ? <Status value="warning" label={t.workflows.behind} /> : null}
        </Group>
        {set ? <SetCurrent one={one} id={set} /> : null}
      </Group>
      <Progress
        value={percent}
        size="lg"
        color={slips ? "yellow.7" : undefined}
        aria-label={t.workflows.perCent(one.name, percent)}
      />
      <Group justify="space-between" gap="xs">
        <Text size="sm" c="dimmed" className="numbers">
          {t.workflows.of2(amount(one.current), amount(one.target, one.unit), percent)}
        </Text>
        {until
          ? (
            <Text size="sm" c="dimmed">
              {t.workflows.by(formatDate(until), describeDistance(daysTo(until, todayOf())))}
            </Text>
          )
          : null}
      </Group>
    </Stack>
  );
}

function SetCurrent({ one, id }: { one: Kpi; id: string }) {
  const [open, setOpen] = useState(false);
  const [value, setValue] = useState<string | number>(one.current ?? "");
  const { busy, act } = useAction();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const done = await act(async () => {
      await client.POST("/api/v1/workflows/{workflow_id}/kpi", {
        params: { path: { workflow_id: id } },
        body: { name: one.name, current: Number(value) },
      });
      await refreshAll();
    });
    if (done) setOpen(false);
  };
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-end" shadow="md" trapFocus>
      <Popover.Target>
        <Button
          size="compact-sm"
          variant="default"
          aria-label={t.workflows.update2(one.name)}
          onClick={() => {
            setValue(one.current ?? "");
            setOpen(!open);
          }}
        >
          {t.workflows.update}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t.workflows.currentValueOf(one.name)}>
        <form onSubmit={(event) => void submit(event)}>
          <Group gap="xs" align="flex-end">
            <NumberInput
              label={t.workflows.currentValue}
              w={140}
              required
              hideControls
              value={value}
              onChange={setValue}
              data-autofocus
            />
            <Button type="submit" loading={busy}>{t.workflows.save}</Button>
          </Group>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
