// Emergency operations: halt everything, release it, drain a worker.

import {
  Anchor,
  Badge,
  Button,
  Card,
  Group,
  Stack,
  Table,
  Text,
  Title,
  Tooltip,
  VisuallyHidden,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type Answer, api, client, refresh } from "../../api/client";
import { useHasRole, useSession } from "../../api/session";
import { notifyDone, useAction } from "../../kit/useAction";
import { ProblemNote } from "../../kit/QueryResult";
import { useConfirm } from "../../kit/Confirm";
import { Timestamp } from "../../kit/Timestamp";
import { escapeInvisible, formatDuration } from "../../kit/format";
import { type Halt, HaltModal, ReleaseButton, useHalts } from "./HaltControls";
import { describeHalted } from "./healthText";
import { locale, t } from "../../strings";

type Worker = Answer<"admin_list_workers">["workers"][number];
type Queue = Answer<"admin_list_workers">["queues"][number];

const EVERY = 10_000;
const WORKERS = "/api/v1/admin/workers";

export function Halts() {
  const query = useHalts();
  const problem: unknown = query.error;
  const may = useHasRole("operator");
  const halts = query.data?.halts ?? [];
  const whole = halts.some((one) => one.scope === "workspace");
  return (
    <Card withBorder radius="lg" p="lg">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">{t.health.halts}</Title>
        {may && query.data && !whole ? <HaltEverything /> : null}
      </Group>
      {problem ? <ProblemNote problem={problem} /> : null}
      {query.data && halts.length === 0
        ? <Text size="sm" c="dimmed">{t.health.noHaltsEveryDueRun}</Text>
        : null}
      <Stack gap="md">
        {halts.map((one) => <HaltRow key={one.halt_id} halt={one} />)}
      </Stack>
    </Card>
  );
}

function HaltEverything() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button variant="light" color="red" onClick={() => setOpen(true)}>
        {t.health.haltEverything2}
      </Button>
      {open ? <HaltModal close={() => setOpen(false)} /> : null}
    </>
  );
}

function HaltRow({ halt }: { halt: Halt }) {
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start">
      <div style={{ minWidth: 0 }}>
        <Text fw={600} className="wrap-anywhere">
          {halt.automation_id
            ? (
              <Anchor component={Link} to={`/automations/${halt.automation_id}`} inherit>
                {describeHalted(halt)}
              </Anchor>
            )
            : describeHalted(halt)}
        </Text>
        <Text size="sm" className="wrap-anywhere">{halt.reason}</Text>
        <Text size="sm" c="dimmed" component="div" className="wrap-anywhere">
          {t.health.runHeld2(
            <Timestamp at={halt.halted_at} />,
            halt.halted_by ? t.health.by(halt.halted_by) : "",
            halt.held,
            halt.under_way ? t.health.notStoppedYet(halt.under_way) : "",
          )}
        </Text>
      </div>
      <ReleaseButton halt={halt} />
    </Group>
  );
}

/** For administrators of the installation: workers belong to no workspace. */
export function Workers() {
  const who = useSession();
  return who.user.administrator ? <Fleet /> : null;
}

function Fleet() {
  const query = api.useQuery("get", WORKERS, {}, { refetchInterval: EVERY });
  const problem: unknown = query.error;
  const workers = query.data?.workers ?? [];
  return (
    <Card withBorder radius="lg" p="lg">
      <Title order={2} size="h4" mb="sm">{t.health.workers}</Title>
      {problem ? <ProblemNote problem={problem} /> : null}
      {query.data && !workers.length
        ? <Text size="sm" c="dimmed">{t.health.noWorkerIsRunningRuns}</Text>
        : null}
      {workers.length ? <WorkerList workers={workers} /> : null}
      {query.data
        ? (
          <>
            <Title order={3} size="h5" mt="md" mb="xs">{t.health.loadPerQueue}</Title>
            <QueueList queues={query.data.queues} />
            <Text size="sm" c="dimmed" mt="xs">{t.health.addWorkersWhereTheOldest}</Text>
          </>
        )
        : null}
    </Card>
  );
}

function WorkerList({ workers }: { workers: Worker[] }) {
  return (
    <Table.ScrollContainer minWidth={520} type="native">
      <Table aria-label={t.health.workers}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.health.worker}</Table.Th>
            <Table.Th>{t.health.queues}</Table.Th>
            <Table.Th>{t.health.inFlight}</Table.Th>
            <Table.Th>{t.health.started}</Table.Th>
            <Table.Th>
              <VisuallyHidden>{t.health.actions}</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {workers.map((one) => (
            <Table.Tr key={one.worker_id}>
              <Table.Td className="wrap-anywhere">{escapeInvisible(one.name)}</Table.Td>
              <Table.Td>{one.queues.join(", ")}</Table.Td>
              <Table.Td className="numbers">{t.health.of(one.in_flight, one.slots)}</Table.Td>
              <Table.Td>
                <Timestamp at={one.started_at} />
              </Table.Td>
              <Table.Td ta="right">
                {one.drain_at ? <DrainingNote /> : <Drain name={one.name} />}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function DrainingNote() {
  return (
    <Tooltip label={t.health.itTakesNoNewRuns}>
      <Badge color="yellow" variant="light" radius="sm" tt="none" miw="fit-content">
        {t.health.draining}
      </Badge>
    </Tooltip>
  );
}

function Drain({ name }: { name: string }) {
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const drain = async () => {
    const sure = await confirm({
      title: t.health.drainTheWorker(name),
      message: t.health.itTakesNoNewRunsFinishes,
      yes: t.health.drain,
      dangerous: true,
    });
    if (!sure) return;
    await act(async () => {
      const { data } = await client.POST(`${WORKERS}/drain`, { body: { worker: name } });
      await refresh(WORKERS);
      notifyDone(data!.says);
    });
  };
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-label={t.health.drain3(name)}
      loading={busy}
      onClick={drain}
    >
      {t.health.drain2}
    </Button>
  );
}

function QueueList({ queues }: { queues: Queue[] }) {
  return (
    <Table.ScrollContainer minWidth={520} type="native">
      <Table aria-label={t.health.queues}>
        <Table.Thead>
          <Table.Tr>
            {[
              t.health.queue,
              t.health.due,
              t.health.oldest,
              t.health.inFlight,
              t.health.held,
              t.health.slots,
              t.health.workers,
            ].map((head) => <Table.Th key={head}>{head}</Table.Th>)}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {queues.map((one) => (
            <Table.Tr key={one.queue}>
              <Table.Td>{one.queue}</Table.Td>
              <Table.Td className="numbers">{one.due_runs.toLocaleString(locale)}</Table.Td>
              <Table.Td className="numbers">
                {one.due_runs ? formatDuration(one.oldest_seconds) : "—"}
              </Table.Td>
              <Table.Td className="numbers">{one.in_flight.toLocaleString(locale)}</Table.Td>
              <Table.Td className="numbers">{one.held_runs.toLocaleString(locale)}</Table.Td>
              <Table.Td className="numbers">{one.slots.toLocaleString(locale)}</Table.Td>
              <Table.Td className="numbers">{one.workers}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
