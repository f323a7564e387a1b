// Editable lines: KPIs with targets, deadlines with dates.

import { ActionIcon, Button, Group, NumberInput, Stack, TextInput } from "@mantine/core";
import { Plus, X } from "lucide-react";
import type { ReactNode } from "react";
import type { Deadline, Kpi } from "./progress";
import { t } from "../../strings";

/** While editing, a number may be missing. */
export type WrittenKpi = Omit<Kpi, "target"> & { target: number | string };

export const NEW_KPI: WrittenKpi = { name: "", target: "" };
export const NEW_DEADLINE: Deadline = { label: "", date: "" };

/** The request body; empty lines are omitted. */
export const asKpis = (lines: WrittenKpi[]): Kpi[] =>
  lines.filter((one) => one.name.trim() || one.target !== "")
    .map(({ name, target, unit, deadline, current }) => ({
      name: name.trim(),
      target: Number(target),
      ...(unit?.trim() ? { unit: unit.trim() } : {}),
      ...(deadline ? { deadline } : {}),
      ...(current === undefined || current === null ? {} : { current }),
    }));

export const asDeadlines = (lines: Deadline[]): Deadline[] =>
  lines.filter((one) => one.label.trim() || one.date)
    .map(({ label, date }) => ({ label: label.trim(), date }));

type Props<T> = { lines: T[]; set: (lines: T[]) => void; error: (pointer: string) => Error };
type Error = string | undefined;

export function KpiLines({ lines, set, error }: Props<WrittenKpi>) {
  return (
    <Lines lines={lines} set={set} fresh={NEW_KPI} what={t.workflows.kpi}>
      {(one, at, change) => (
        <>
          <TextInput
            flex="2 1 9rem"
            aria-label={t.workflows.nameOfKpi(at + 1)}
            placeholder={t.workflows.payingCustomers}
            value={one.name}
            error={error(`/kpis/${at}/name`)}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
          <NumberInput
            flex="1 1 5rem"
            aria-label={t.workflows.targetOfKpi(at + 1)}
            placeholder="100"
            hideControls
            required={!!one.name}
            value={one.target}
            error={error(`/kpis/${at}/target`)}
            onChange={(target) => change({ target })}
          />
          <TextInput
            flex="1 1 5rem"
            aria-label={t.workflows.unitOfKpi(at + 1)}
            placeholder="customers"
            value={one.unit ?? ""}
            error={error(`/kpis/${at}/unit`)}
            onChange={(event) => change({ unit: event.currentTarget.value })}
          />
          <TextInput
            flex="1 1 8rem"
            type="date"
            aria-label={t.workflows.deadlineOfKpi(at + 1)}
            value={one.deadline ?? ""}
            error={error(`/kpis/${at}/deadline`)}
            onChange={(event) => change({ deadline: event.currentTarget.value })}
          />
        </>
      )}
    </Lines>
  );
}

export function DeadlineLines({ lines, set, error }: Props<Deadline>) {
  return (
    <Lines lines={lines} set={set} fresh={NEW_DEADLINE} what="deadline">
      {(one, at, change) => (
        <>
          <TextInput
            flex="2 1 9rem"
            aria-label={t.workflows.nameOfDeadline(at + 1)}
            placeholder="Beta"
            value={one.label}
            required={!!one.date}
            error={error(`/deadlines/${at}/label`)}
            onChange={(event) => change({ label: event.currentTarget.value })}
          />
          <TextInput
            flex="1 1 8rem"
            type="date"
            aria-label={t.workflows.dayOfDeadline(at + 1)}
            value={one.date}
            required={!!one.label}
            error={error(`/deadlines/${at}/date`)}
            onChange={(event) => change({ date: event.currentTarget.value })}
          />
        </>
      )}
    </Lines>
  );
}

type LinesProps<T> = {
  lines: T[];
  set: (lines: T[]) => void;
  fresh: T;
  what: string;
  children: (one: T, at: number, change: (more: Partial<T>) => void) => ReactNode;
};

function Lines<T>({ lines, set, fresh, what, children }: LinesProps<T>) {
  return (
    <Stack gap="xs">
      {lines.map((one, at) => (
        <Group key={at} gap={6} wrap="nowrap" align="flex-start">
          <Group gap={6} flex={1} align="flex-start">
            {children(one, at, (more) =>
              set(lines.map((each, place) => place === at ? { ...each, ...more } : each)))}
          </Group>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={t.workflows.remove(what, at + 1)}
            onClick={() =>
              set(lines.filter((_, place) => place !== at))}
          >
            <X size={15} />
          </ActionIcon>
        </Group>
      ))}
      <Button
        variant="subtle"
        size="compact-sm"
        w="fit-content"
        leftSection={<Plus size={14} />}
        onClick={() => set([...lines, fresh])}
      >
        {t.workflows.addA(what)}
      </Button>
    </Stack>
  );
}
