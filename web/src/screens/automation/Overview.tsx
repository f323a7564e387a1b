// The overview of an automation: state, next run, recent results and description.

import { Anchor, Box, Card, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useHasRole } from "../../api/session";
import { Empty } from "../../kit/Empty";
import { Timestamp } from "../../kit/Timestamp";
import { Status } from "../../kit/Status";
import {
  capitalize,
  describeOutcome,
  describeTrigger,
  formatDateTime,
  formatUsd,
  runStatus,
} from "../../kit/format";
import { Activity } from "lucide-react";
import { describeStreak, Sparkline } from "../automations/Sparkline";
import { RunList } from "../runs/RunList";
import { Price } from "./Activate";
import { useTriggers } from "./queries";
import { Permissions } from "./Permissions";
import { Plan } from "./Plan";
import { StateNotes } from "./StateNote";
import { Description } from "./Description";
import { definitionOf, describeState, type Detail } from "./automationText";
import { t } from "../../strings";

export function Part(
  { title, children, right }: { title: string; children: ReactNode; right?: ReactNode },
) {
  return (
    <Card withBorder radius="lg" p="lg" component="section">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h5">{title}</Title>
        {right}
      </Group>
      {children}
    </Card>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Card withBorder radius="lg" p="md">
      <Text size="xs" c="dimmed" mb={4}>{name}</Text>
      {children}
    </Card>
  );
}

function describeNextRun(automation: Detail): string {
  if (automation.state !== "active") return t.automation.noneWhileItIsPaused;
  return automation.trigger_types.length
    ? t.automation.whenATriggerFires
    : t.automation.whenSomeoneStartsIt;
}

function NextRun({ automation }: { automation: Detail }) {
  const triggers = useTriggers(automation.id);
  const due = automation.next_due_at;
  const zone = triggers.data?.items.find((one) => one.next_due_at === due)?.config.timezone;
  if (!due) {
    return (
      <Text size="sm">
        {describeNextRun(automation)}
      </Text>
    );
  }
  return (
    <Stack gap={0}>
      <Timestamp at={due} />
      <Text size="xs" c="dimmed">
        {formatDateTime(due, zone ? String(zone) : undefined)}
        {zone ? `, ${zone}` : ""}
      </Text>
    </Stack>
  );
}

function Facts({ automation }: { automation: Detail }) {
  const last = automation.last_run;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
      <Fact name={t.automation.nextRun}>
        <NextRun automation={automation} />
      </Fact>
      <Fact name={t.automation.lastRun}>
        {last
          ? (
            <Stack gap={2} align="flex-start">
              <Group gap={6}>
                <Anchor
                  component={Link}
                  to={`/runs/${last.id}`}
                  title={t.automation.openTheLastRun}
                >
                  <Status value={runStatus(last)} />
                </Anchor>
                <Timestamp at={last.at} size="xs" />
              </Group>
              {last.outcome
                ? (
                  <Text size="xs" c="dimmed">
                    {capitalize(describeOutcome(last.outcome))}
                  </Text>
                )
                : null}
            </Stack>
          )
          : <Text size="sm">{t.automation.notRunYet}</Text>}
      </Fact>
      <Fact name={t.automation.successStreak}>
        {automation.recent.length
          ? (
            <Stack gap={4}>
              <Text size="sm" className="numbers">
                {describeStreak(automation.streak) || t.automation.none}
              </Text>
              <Sparkline recent={automation.recent} />
            </Stack>
          )
          : <Text size="sm">—</Text>}
      </Fact>
      <Fact name={t.automation.costThisMonth}>
        <Text size="sm" className="numbers">{formatUsd(automation.month_usd)}</Text>
      </Fact>
    </SimpleGrid>
  );
}

function Starts({ automation }: { automation: Detail }) {
  const { data } = useTriggers(automation.id);
  if (!data) return null;
  if (!data.items.length) return <Text size="sm">{t.automation.noTriggerItRunsOnly}</Text>;
  return (
    <Stack gap={4}>
      {data.items.map((one) => (
        <Text size="sm" key={one.id}>
          {capitalize(describeTrigger(one))}
          {one.enabled ? "" : t.automation.off}
        </Text>
      ))}
    </Stack>
  );
}

export function Overview({ automation }: { automation: Detail }) {
  const definition = definitionOf(automation);
  const rescue = definition.execution?.on_failure ?? [];
  const mayAsk = useHasRole("editor");
  const of = (tab: string, label: string) => (
    <Anchor component={Link} to={`/automations/${automation.id}/${tab}`} size="sm">
      {label}
    </Anchor>
  );
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t.automation.versionIsActive(describeState(automation), automation.version)}
      </Text>
      <StateNotes automation={automation} />
      <Facts automation={automation} />
      <Box>
        <Group justify="space-between" mb="xs">
          <Title order={2} size="h5">{t.automation.latestRuns}</Title>
          {of("runs", t.automation.allRuns)}
        </Group>
        <RunList
          query={{ automation_id: automation.id }}
          most={5}
          none={
            <Empty icon={Activity} title={t.automation.noRunsYet}>
              {t.automation.runItNowToSee}
            </Empty>
          }
        />
      </Box>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Part title={t.automation.whatItDoes}>
          {mayAsk ? <Description id={automation.id} version={automation.version} /> : null}
          {definition.description ? <Text size="sm" mb="xs">{definition.description}</Text> : null}
          <Plan steps={definition.plan} />
          {rescue.length
            ? (
              <>
                <Title order={3} size="h6" mt="sm">{t.automation.onFailure}</Title>
                <Plan steps={rescue} />
              </>
            )
            : null}
        </Part>
        <Stack>
          <Part title={t.automation.triggers} right={of("triggers", t.automation.triggers2)}>
            <Starts automation={automation} />
          </Part>
          <Part
            title={t.automation.whatItMayDo}
            right={of("grants", t.automation.grantsAndUsage)}
          >
            <Permissions automation={automation} />
          </Part>
          <Part title={t.automation.cost} right={of("settings", t.automation.limits)}>
            <Price id={automation.id} />
          </Part>
        </Stack>
      </SimpleGrid>
    </Stack>
  );
}
