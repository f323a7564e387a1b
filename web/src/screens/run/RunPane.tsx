// The whole run: result, inputs, cost and origin.

import { Anchor, Card, Group, Stack, Table, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Json } from "../../kit/Json";
import { formatCount, formatUsd, isOver } from "../../kit/format";
import { Files } from "./Files";
import type { Followed } from "./liveRun";
import { Section } from "./Section";

function Lineage({ run }: { run: Followed }) {
  if (!run.replay_of && !run.parent_id) return null;
  return (
    <Group gap="md">
      {run.replay_of
        ? (
          <Anchor component={Link} to={`/runs/${run.replay_of}`} size="sm">
            The run that it repeats
          </Anchor>
        )
        : null}
      {run.parent_id
        ? (
          <Anchor component={Link} to={`/runs/${run.parent_id}`} size="sm">
            The run that started it
          </Anchor>
        )
        : null}
    </Group>
  );
}

function Usage({ run }: { run: Followed }) {
  if (!run.usage.length) return null;
  return (
    <Section title="What it asked of models">
      <Table.ScrollContainer minWidth={360} type="native">
        <Table fz="sm" verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Step</Table.Th>
              <Table.Th>Model</Table.Th>
              <Table.Th ta="right">Tokens</Table.Th>
              <Table.Th ta="right">Cost</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {run.usage.map((one) => (
              <Table.Tr
                key={`${one.step} ${one.caller} ${one.provider} ${one.model} ${one.reported}`}
              >
                <Table.Td className="mono">{one.step}</Table.Td>
                <Table.Td>
                  {one.model}
                  {one.reported ? " (its own word)" : ""}, {formatCount(one.asks, "ask")}
                </Table.Td>
                <Table.Td ta="right" className="numbers">
                  {(one.input_tokens + one.output_tokens).toLocaleString("en")}
                </Table.Td>
                <Table.Td ta="right" className="numbers">
                  {formatUsd(one.cost_usd)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  );
}

function PretendedCalls({ run }: { run: Followed }) {
  const calls = run.story.suppressed ?? [];
  if (!calls.length) return null;
  return (
    <Section title="What it only pretended to do">
      <Stack gap={6}>
        {calls.map((one, at) => (
          <details key={at}>
            <summary>
              <Text span size="sm" className="mono">{one.capability}</Text>
            </summary>
            <Json
              value={one.arguments}
              label={`what ${one.capability} would have been given`}
              most={240}
            />
          </details>
        ))}
      </Stack>
    </Section>
  );
}

const isEmpty = (value: unknown) =>
  value === null || value === undefined ||
  (typeof value === "object" && Object.keys(value).length === 0);

export function RunPane({ run }: { run: Followed }) {
  const silent = isEmpty(run.output);
  return (
    <Card
      withBorder
      radius="lg"
      p="md"
      component="section"
      aria-label="The whole run"
      tabIndex={-1}
      id="run-pane"
    >
      <Stack gap="md">
        <Title order={2} size="h4">The whole run</Title>
        <Lineage run={run} />
        {silent
          ? (
            <Text size="sm" c="dimmed">
              {isOver(run.status)
                ? "It answered nothing."
                : "What it answers appears here when it is over."}
            </Text>
          )
          : (
            <Section title="What it answered">
              <Json value={run.output} label="the answer of the run" />
            </Section>
          )}
        <PretendedCalls run={run} />
        {isEmpty(run.inputs) ? null : (
          <Section title="Its inputs">
            <Json value={run.inputs} label="its inputs" />
          </Section>
        )}
        {isEmpty(run.payload) ? null : (
          <Section title="What its trigger brought">
            <Json value={run.payload} label="its payload" />
          </Section>
        )}
        <Usage run={run} />
        <Files runId={run.id} />
      </Stack>
    </Card>
  );
}
