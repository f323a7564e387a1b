// What an operator does in an emergency: halt everything and release it; and the workers at work.

import { Badge, Button, Card, Group, Stack, Table, Text, Title } from "@mantine/core";
import { type Answer, api, client, refresh } from "../../api/client";
import { useMay, useWho } from "../../api/session";
import { useAct } from "../../kit/acting";
import { ProblemNote } from "../../kit/Asked";
import { useConfirm } from "../../kit/Confirm";
import { Moment } from "../../kit/Moment";
import { haltedWords } from "./reading";

export type Halt = Answer<"list_halts">["halts"][number];

const EVERY = 10_000;
const refreshAll = () => refresh("/api/v1/halts", "/api/v1/automations", "/api/v1/runs");

export function Halts() {
  const asked = api.useQuery("get", "/api/v1/halts", {}, { refetchInterval: EVERY });
  const problem: unknown = asked.error;
  const may = useMay("operator");
  const halts = asked.data?.halts ?? [];
  const whole = halts.some((one) => one.scope === "workspace");
  return (
    <Card withBorder radius="lg" p="lg">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">Halts</Title>
        {may && asked.data && !whole ? <HaltEverything /> : null}
      </Group>
      {problem ? <ProblemNote problem={problem} /> : null}
      {asked.data && halts.length === 0
        ? <Text size="sm" c="dimmed">Nothing is halted. Every run that is due is taken.</Text>
        : null}
      <Stack gap="md">
        {halts.map((one) => <HaltRow key={one.halt_id} halt={one} may={may} />)}
      </Stack>
    </Card>
  );
}

function HaltEverything() {
  const confirm = useConfirm();
  const { busy, act } = useAct();
  const halt = async () => {
    const sure = await confirm({
      title: "Halt everything in this workspace?",
      words: "Runs under way are interrupted and held with what they did; whatever fires " +
        "meanwhile is held too. Nothing is lost, and nothing goes on until you release it.",
      yes: "Halt everything",
      dangerous: true,
    });
    if (!sure) return;
    const body = { scope: "workspace", reason: "Halted by hand on the page." } as const;
    await act(() => client.POST("/api/v1/halts", { body }), "The workspace stands still.");
    await refreshAll();
  };
  return (
    <Button variant="light" color="red.9" loading={busy} onClick={halt}>Halt everything</Button>
  );
}

function HaltRow({ halt, may }: { halt: Halt; may: boolean }) {
  const { busy, act } = useAct();
  const release = async () => {
    const body = {
      scope: halt.scope,
      ...(halt.automation_id ? { automation_id: halt.automation_id } : {}),
      ...(halt.recipe ? { recipe: halt.recipe } : {}),
    };
    await act(() => client.POST("/api/v1/halts/release", { body }), "It goes on.");
    await refreshAll();
  };
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start">
      <div style={{ minWidth: 0 }}>
        <Text fw={600} className="wrap-anywhere">{haltedWords(halt)}</Text>
        <Text size="sm" className="wrap-anywhere">{halt.reason}</Text>
        <Text size="sm" c="dimmed" component="div">
          <Moment at={halt.halted_at} />
          {halt.halted_by ? ` by ${halt.halted_by}` : ""} · {halt.held} held
          {halt.under_way ? ` · ${halt.under_way} not stopped yet` : ""}
        </Text>
      </div>
      {may && !halt.everywhere
        ? <Button variant="default" loading={busy} onClick={release}>Release</Button>
        : null}
    </Group>
  );
}

/** For whoever looks after the installation: the machines are not a workspace's own. */
export function Workers() {
  const who = useWho();
  return who.user.administrator ? <WorkerList /> : null;
}

function WorkerList() {
  const asked = api.useQuery("get", "/api/v1/admin/workers", {}, { refetchInterval: EVERY });
  const problem: unknown = asked.error;
  return (
    <Card withBorder radius="lg" p="lg">
      <Title order={2} size="h4" mb="sm">Workers</Title>
      {problem ? <ProblemNote problem={problem} /> : null}
      {asked.data?.workers.length === 0
        ? <Text size="sm" c="dimmed">No worker is alive; runs wait until one is started.</Text>
        : null}
      <Table.ScrollContainer minWidth={480}>
        <Table aria-label="Workers">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Worker</Table.Th>
              <Table.Th>Queues</Table.Th>
              <Table.Th>In flight</Table.Th>
              <Table.Th>Since</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {asked.data?.workers.map((one) => (
              <Table.Tr key={one.worker_id}>
                <Table.Td className="wrap-anywhere">
                  {one.name} {one.drain_at ? <Badge color="yellow.9">draining</Badge> : null}
                </Table.Td>
                <Table.Td>{one.queues.join(", ")}</Table.Td>
                <Table.Td className="numbers">{one.in_flight} of {one.slots}</Table.Td>
                <Table.Td>
                  <Moment at={one.started_at} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Card>
  );
}
