// The whole run: result, inputs, cost and origin.

import { Anchor, Card, Group, Stack, Table, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Json } from "../../kit/Json";
import { formatUsd, isOver } from "../../kit/format";
import { Files } from "./Files";
import type { Followed } from "./liveRun";
import { Section } from "./Section";
import { locale, t } from "../../strings";

function Lineage({ run }: { run: Followed }) {
  if (!run.replay_of && !run.parent_id) return null;
  return (
    <Group gap="md">
      {run.replay_of
        ? (
          <Anchor component={Link} to={`/runs/${run.replay_of}`} size="sm">
            {t.run.replayedRun}
          </Anchor>
        )
        : null}
      {run.parent_id
        ? (
          <Anchor component={Link} to={`/runs/${run.parent_id}`} size="sm">
            {t.run.startedByRun}
          </Anchor>
        )
        : null}
    </Group>
  );
}

function Usage({ run }: { run: Followed }) {
  if (!run.usage.length) return null;
  return (
    <Section title={t.run.modelRequests}>
      <Table.ScrollContainer minWidth={360} type="native">
        <Table fz="sm" verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t.run.step2}</Table.Th>
              <Table.Th>{t.run.model}</Table.Th>
              <Table.Th ta="right">{t.run.tokens}</Table.Th>
              <Table.Th ta="right">{t.run.cost}</Table.Th>
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
                  {one.reported ? t.run.selfReported : ""}, {t.counts.asks(one.asks)}
                </Table.Td>
                <Table.Td ta="right" className="numbers">
                  {(one.input_tokens + one.output_tokens).toLocaleString(locale)}
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
    <Section title={t.run.simulatedCalls}>
      <Stack gap={6}>
        {calls.map((one, at) => (
          <details key={at}>
            <summary>
              <Text span size="sm" className="mono">{one.capability}</Text>
            </summary>
            <Json
              value={one.arguments}
              label={t.run.theArgumentsOf2(one.capability)}
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
      aria-label={t.run.theWholeRun}
      tabIndex={-1}
      id="run-pane"
    >
      <Stack gap="md">
        <Title order={2} size="h4">{t.run.theWholeRun}</Title>
        <Lineage run={run} />
        {silent
          ? (
            <Text size="sm" c="dimmed">
              {isOver(run.status) ? t.run.noResult : t.run.theResultAppearsHereWhen}
            </Text>
          )
          : (
            <Section title={t.run.result}>
              <Json value={run.output} label={t.run.theResultOfTheRun} />
            </Section>
          )}
        <PretendedCalls run={run} />
        {isEmpty(run.inputs) ? null : (
          <Section title={t.run.inputs2}>
            <Json value={run.inputs} label={t.run.theInputs} />
          </Section>
        )}
        {isEmpty(run.payload) ? null : (
          <Section title={t.run.triggerPayload}>
            <Json value={run.payload} label={t.run.thePayload} />
          </Section>
        )}
        <Usage run={run} />
        <Files runId={run.id} />
      </Stack>
    </Card>
  );
}
