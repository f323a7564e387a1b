// One automation in the list: title, state, next run and recent results.

import { Anchor, Badge, Box, Group, Stack, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "../../api/client";
import { Timestamp } from "../../kit/Timestamp";
import { Status } from "../../kit/Status";
import {
  capitalize,
  describeOutcome,
  escapeInvisible,
  formatUsd,
  humanize,
  runStatus,
} from "../../kit/format";
import { RowActions } from "./RowActions";
import { describeStreak, Sparkline } from "./Sparkline";
import { t } from "../../strings";

type Summary = Schemas["AutomationSummary"];

/** Notes about the state, beyond its label. */
export function notes(automation: Summary): string[] {
  const { paused_reason: why, failures, drafts_waiting: drafts, approvals_waiting: questions } =
    automation;
  return [
    automation.halted ? humanize("halted") : "",
    why === "owner_left" ? t.automations.itsOwnerLeft : "",
    why === "failures" ? t.automations.pausedAfterFailure(failures) : "",
    automation.consent_waiting || why === "consent" ? t.automations.waitingForConsent : "",
    why !== "failures" && failures > 0 ? t.automations.failedInARow(failures) : "",
    drafts ? t.automations.draftToReview(drafts) : "",
    questions ? t.automations.questionToAnswer(questions) : "",
  ].filter(Boolean);
}

function Starts({ automation }: { automation: Summary }) {
  const types = automation.trigger_types.map((one) => capitalize(humanize(one))).join(", ");
  return (
    <Stack gap={0}>
      {automation.next_due_at ? <Timestamp at={automation.next_due_at} /> : null}
      <Text size="xs" c="dimmed">{types || t.automations.manualOnly}</Text>
    </Stack>
  );
}

function Last({ automation }: { automation: Summary }) {
  const last = automation.last_run;
  if (!last) return <Text size="sm" c="dimmed">{t.automations.notRunYet}</Text>;
  return (
    <Stack gap={2} align="flex-start">
      <Group gap={6} wrap="nowrap">
        <Status value={runStatus(last)} />
        <Timestamp at={last.at} size="xs" />
      </Group>
      {last.outcome
        ? <Text size="xs" c="dimmed">{capitalize(describeOutcome(last.outcome))}</Text>
        : null}
    </Stack>
  );
}

function Name({ automation }: { automation: Summary }) {
  return (
    <Box maw={420}>
      <Anchor
        component={Link}
        to={`/automations/${automation.id}`}
        fw={600}
        c="inherit"
        data-row=""
        className="wrap-anywhere"
      >
        {escapeInvisible(automation.name)}
      </Anchor>
      {automation.goal ? <Text size="xs" c="dimmed" lineClamp={1}>{automation.goal}</Text> : null}
    </Box>
  );
}

function State({ automation }: { automation: Summary }) {
  return (
    <Stack gap={4} align="flex-start">
      <Status value={automation.state} />
      {notes(automation).map((one) => (
        <Badge
          key={one}
          miw="fit-content"
          color="yellow"
          variant="light"
          size="sm"
          tt="none"
          radius="sm"
        >
          {one}
        </Badge>
      ))}
    </Stack>
  );
}

function Doing({ automation }: { automation: Summary }) {
  if (!automation.recent.length) return <Text size="sm" c="dimmed">—</Text>;
  return (
    <Stack gap={2}>
      <Sparkline recent={automation.recent} />
      <Text size="xs" c="dimmed">{describeStreak(automation.streak)}</Text>
    </Stack>
  );
}

export function Row({ automation }: { automation: Summary }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Name automation={automation} />
      </Table.Td>
      <Table.Td>
        <State automation={automation} />
      </Table.Td>
      <Table.Td>
        <Starts automation={automation} />
      </Table.Td>
      <Table.Td>
        <Last automation={automation} />
      </Table.Td>
      <Table.Td>
        <Doing automation={automation} />
      </Table.Td>
      <Table.Td className="numbers" ta="right">
        <Text size="sm">{formatUsd(automation.month_usd)}</Text>
      </Table.Td>
      <Table.Td>
        <RowActions automation={automation} />
      </Table.Td>
    </Table.Tr>
  );
}

/** The same for narrow screens. */
export function NarrowRow({ automation }: { automation: Summary }) {
  return (
    <Stack gap={6} py="sm" px="md">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Name automation={automation} />
        <RowActions automation={automation} />
      </Group>
      <Group gap="sm" align="center">
        <State automation={automation} />
        <Sparkline recent={automation.recent} />
      </Group>
      <Group gap="lg" align="flex-start">
        <Last automation={automation} />
        <Starts automation={automation} />
        <Text size="xs" c="dimmed">{t.automations.thisMonth(formatUsd(automation.month_usd))}</Text>
      </Group>
    </Stack>
  );
}
