// One step of a run: input, output, calls, result and cost.

import { Anchor, Button, Card, Group, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CopyButton } from "../../kit/Copy";
import { Json } from "../../kit/Json";
import { Status } from "../../kit/Status";
import { formatDateTime, formatDuration, formatUsd, humanize } from "../../kit/format";
import { Agent } from "./Agent";
import { Calls, draftOf } from "./Calls";
import { Files } from "./Files";
import type { Followed } from "./liveRun";
import { describeItem } from "./keys";
import { ActionIcon, describeStatus } from "./icons";
import { Output } from "./Output";
import { type Attempt, type Row, rowDuration } from "./timeline";
import { agentOf, linesOf, type StepOutput, tryKey } from "./stepOutput";
import { Section } from "./Section";
import { ErrorDetails } from "./ErrorDetails";
import { t } from "../../strings";

type Props = {
  run: Followed;
  row: Row;
  output: StepOutput;
  attempt: number | null;
  setAttempt: (attempt: number) => void;
  line: number | null;
  chooseLine: (line: number) => void;
};

/** What waits for a person because of this step, with a link. */
function Waiting({ shown, drafts }: { shown: Attempt | undefined; drafts: string[] }) {
  const question = shown?.status === "waiting" &&
    (shown.output as { approval_id?: string } | null)?.approval_id;
  if (!question && !drafts.length) return null;
  const to = question ? `/inbox?item=${question}` : `/inbox?draft=${drafts[0]}`;
  const texts = question
    ? t.run.answerTheQuestion
    : drafts.length > 1
    ? t.run.openTheDrafts
    : t.run.openTheDraft;
  return <Button component={Link} to={to} size="compact-md" variant="light">{texts}</Button>;
}

function costOf(run: Followed, row: Row): number {
  const asks = run.usage.filter((one) => one.step === row.step).reduce(
    (sum, one) => sum + one.cost_usd,
    0,
  );
  const calls = run.calls.filter((one) => one.step === row.step && one.item === row.item)
    .reduce((sum, one) => sum + one.cost_usd, 0);
  return row.item ? calls : Math.max(asks, calls);
}

/** As in the timeline: including waits; with several attempts, the selected one. */
const describeDuration = (row: Row, shown: Attempt): string =>
  row.tries.length > 1
    ? t.run.thisAttemptTook(formatDuration(shown.ms / 1000))
    : t.run.took2(formatDuration(rowDuration(row) ?? shown.ms / 1000));

function Facts({ run, row, shown }: { run: Followed; row: Row; shown: Attempt | undefined }) {
  const cost = costOf(run, row);
  const process = shown?.process;
  const facts = [
    humanize(row.action || "step"),
    shown && shown.status !== "waiting" ? describeDuration(row, shown) : null,
    shown
      ? `${shown.status === "waiting" ? t.run.waitingSince : t.run.ended} ${
        formatDateTime(shown.finished_at)
      }`
      : null,
    shown?.until ? t.run.until(formatDateTime(shown.until)) : null,
    cost ? formatUsd(cost) : null,
    process?.exit_code !== undefined && process.exit_code !== null
      ? t.run.exitCode(process.exit_code)
      : null,
    process?.reason ? t.run.killed(humanize(process.reason)) : null,
    process?.cpu_ms ? t.run.ofCpu(formatDuration(process.cpu_ms / 1000)) : null,
    process?.peak_kb ? t.run.peakMb(Math.round(process.peak_kb / 1024)) : null,
  ];
  return <Text size="sm" c="dimmed">{facts.filter(Boolean).join(" · ")}</Text>;
}

function Head(
  { run, row, shown, drafts }: {
    run: Followed;
    row: Row;
    shown: Attempt | undefined;
    drafts: string[];
  },
) {
  const link = `${location.origin}/runs/${run.id}?step=${encodeURIComponent(row.key)}` +
    (row.tries.length > 1 && shown ? `&attempt=${row.tries.indexOf(shown) + 1}` : "");
  return (
    <div>
      <Group justify="space-between" align="flex-start" gap="xs">
        <Group gap="xs">
          <ActionIcon action={row.action} size={18} />
          <Title order={2} size="h4" className="wrap-anywhere">
            {row.step}
            {row.item ? ` · ${describeItem(row.item)}` : ""}
          </Title>
          <Status
            value={row.status === "under_way" ? "running" : row.status}
            label={describeStatus(row.status)}
          />
        </Group>
        <Group gap="xs">
          <Waiting shown={shown} drafts={drafts} />
          <CopyButton text={link} label={t.run.copyLink} />
        </Group>
      </Group>
      {row.plan?.description ? <Text size="sm" mt={4}>{row.plan.description}</Text> : null}
      <Facts run={run} row={row} shown={shown} />
    </div>
  );
}

function NoOutput({ row }: { row: Row }) {
  const texts: Record<string, string> = {
    planned: t.run.thisStepHasNotStarted,
    not_reached: t.run.theRunEndedBeforeThis,
    skipped: t.run.skippedItsConditionWasNot,
    under_way: t.run.inProgressItsOutputAppears,
  };
  return texts[row.status] ? <Text size="sm" c="dimmed">{texts[row.status]}</Text> : null;
}

function AttemptTabs(
  { row, shown, choose }: { row: Row; shown: Attempt | undefined; choose: (at: number) => void },
) {
  if (row.tries.length < 2 || !shown) return null;
  const data = row.tries.map((one, at) => ({
    value: String(at + 1),
    label: t.run.attempt(at + 1, describeStatus(one.status === "retrying" ? "failed" : one.status)),
  }));
  return (
    <SegmentedControl
      size="xs"
      data={data}
      value={String(row.tries.indexOf(shown) + 1)}
      onChange={(value) => choose(Number(value))}
      aria-label={t.run.attempt2}
    />
  );
}

export function StepPane({ run, row, output: said, attempt, setAttempt, line, chooseLine }: Props) {
  const shown = row.tries[(attempt ?? row.tries.length) - 1] ?? row.tries.at(-1);
  // A running attempt has no record yet, but its output is streamed.
  const number = row.status === "under_way"
    ? (row.tries.at(-1)?.attempt ?? 0) + 1
    : shown?.attempt ?? 1;
  const pieces = said[tryKey(row.key, attempt ? shown?.attempt ?? number : number)] ?? [];
  const lines = linesOf(pieces);
  const agent = agentOf(pieces);
  const calls = run.calls.filter((one) =>
    one.step === row.step && one.item === row.item && (!shown || one.attempt === shown.attempt)
  );
  const drafts = calls.flatMap((call) => draftOf(call) ?? []);
  const transcripts = run.transcripts.filter((one) => one.step === row.step);
  return (
    <Card
      withBorder
      radius="lg"
      p="md"
      component="section"
      aria-label={t.run.step(row.key)}
      tabIndex={-1}
      id="run-pane"
    >
      <Stack gap="md">
        <Head run={run} row={row} shown={shown} drafts={drafts} />
        <AttemptTabs row={row} shown={shown} choose={setAttempt} />
        {shown?.error
          ? (
            <ErrorDetails
              error={shown.error}
              about={{
                run: run.id,
                automation: run.automation,
                version: run.version,
                step: row.key,
                attempt: shown.attempt,
              }}
            />
          )
          : null}
        <NoOutput row={row} />
        {lines.length
          ? (
            <Section title={t.run.output}>
              <Output
                lines={lines}
                stepKey={row.key}
                chosen={line}
                choose={chooseLine}
              />
            </Section>
          )
          : null}
        {agent.length || transcripts.length
          ? (
            <Section
              title={t.run.agentTranscript}
              right={transcripts.map((one) => (
                <Anchor
                  key={one.artifact_id}
                  size="xs"
                  href={`/api/v1/artifacts/${one.artifact_id}/content`}
                  download
                >
                  {t.run.fullTranscript}
                </Anchor>
              ))}
            >
              <Agent pieces={agent} />
            </Section>
          )
          : null}
        {shown && shown.status !== "waiting" && shown.output !== undefined &&
            shown.output !== null
          ? (
            <Section title={t.run.result}>
              <Json value={shown.output} label={t.run.theResponseOf(row.key)} />
            </Section>
          )
          : null}
        {calls.length
          ? (
            <Section title={t.run.calls2}>
              <Calls calls={calls} />
            </Section>
          )
          : null}
        <Files runId={run.id} step={row.step} />
        {row.plan
          ? (
            <Section title={t.run.definition}>
              <Json
                value={row.plan.config}
                label={t.run.theDefinitionOf(row.key)}
                most={280}
              />
            </Section>
          )
          : null}
      </Stack>
    </Card>
  );
}
