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
import { escapeInvisible, formatCount, formatDuration } from "../../kit/format";
import { type Halt, HaltModal, ReleaseButton, useHalts } from "./HaltControls";
import { describeHalted } from "./healthText";

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
        <Title order={2} size="h4">Halts</Title>
        {may && query.data && !whole ? <HaltEverything /> : null}
      </Group>
      {problem ? <ProblemNote problem={problem} /> : null}
      {query.data && halts.length === 0
        ? <Text size="sm" c="dimmed">Nothing is halted. Every run that is due is taken.</Text>
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
        Halt everything…
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
          <Timestamp at={halt.halted_at} />
          {halt.halted_by ? ` by ${halt.halted_by}` : ""} · {formatCount(halt.held, "run")} held
          {halt.under_way ? ` · ${halt.under_way} not stopped yet` : ""}
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
      <Title order={2} size="h4" mb="sm">Workers</Title>
      {problem ? <ProblemNote problem={problem} /> : null}
      {query.data && !workers.length
        ? <Text size="sm" c="dimmed">No worker is alive; runs wait until one is started.</Text>
        : null}
      {workers.length ? <WorkerList workers={workers} /> : null}
      {query.data
        ? (
          <>
            <Title order={3} size="h5" mt="md" mb="xs">What each queue asks of them</Title>
            <QueueList queues={query.data.queues} />
            <Text size="sm" c="dimmed" mt="xs">
              Add workers where the oldest run waits for more than a few seconds. What is held waits
              for a release, not for a worker.
            </Text>
          </>
        )
        : null}
    </Card>
  );
}

function WorkerList({ workers }: { workers: Worker[] }) {
  return (
    <Table.ScrollContainer minWidth={520} type="native">
      <Table aria-label="Workers">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Worker</Table.Th>
            <Table.Th>Queues</Table.Th>
            <Table.Th>In flight</Table.Th>
            <Table.Th>Started</Table.Th>
            <Table.Th>
              <VisuallyHidden>What can be done</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {workers.map((one) => (
            <Table.Tr key={one.worker_id}>
              <Table.Td className="wrap-anywhere">{escapeInvisible(one.name)}</Table.Td>
              <Table.Td>{one.queues.join(", ")}</Table.Td>
              <Table.Td className="numbers">{one.in_flight} of {one.slots}</Table.Td>
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
    <Tooltip label="It takes nothing new, and leaves when what it has is done or handed back.">
      <Badge color="yellow" variant="light" radius="sm" tt="none" miw="fit-content">
        draining
      </Badge>
    </Tooltip>
  );
}

function Drain({ name }: { name: string }) {
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const drain = async () => {
    const sure = await confirm({
      title: `Drain the worker ${name}?`,
      message: "It takes nothing new from now on, finishes or hands back what it has, and ends. " +
        "It cannot be called back: it stays away until somebody starts it again, and one of " +
        "“mainspring up” until that server is started again.",
      yes: "Drain it",
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
      aria-label={`Drain ${name}`}
      loading={busy}
      onClick={drain}
    >
      Drain…
    </Button>
  );
}

function QueueList({ queues }: { queues: Queue[] }) {
  return (
    <Table.ScrollContainer minWidth={520} type="native">
      <Table aria-label="Queues">
        <Table.Thead>
          <Table.Tr>
            {["Queue", "Due", "Oldest", "In flight", "Held", "Slots", "Workers"].map((head) => (
              <Table.Th key={head}>{head}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {queues.map((one) => (
            <Table.Tr key={one.queue}>
              <Table.Td>{one.queue}</Table.Td>
              <Table.Td className="numbers">{one.due_runs.toLocaleString("en")}</Table.Td>
              <Table.Td className="numbers">
                {one.due_runs ? formatDuration(one.oldest_seconds) : "—"}
              </Table.Td>
              <Table.Td className="numbers">{one.in_flight.toLocaleString("en")}</Table.Td>
              <Table.Td className="numbers">{one.held_runs.toLocaleString("en")}</Table.Td>
              <Table.Td className="numbers">{one.slots.toLocaleString("en")}</Table.Td>
              <Table.Td className="numbers">{one.workers}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
