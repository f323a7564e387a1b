// The overview: what waits for a person, runs since yesterday, next runs today, cost, and available
// upgrades.

import { Anchor, Card, Grid, Group, Progress, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ArrowUpCircle, CircleCheck } from "lucide-react";
import type { ReactNode } from "react";
import { api } from "../../api/client";
import { useSession } from "../../api/session";
import { Timestamp } from "../../kit/Timestamp";
import { Status } from "../../kit/Status";
import {
  describeOutcome,
  escapeInvisible,
  formatUsd,
  humanize,
  runAt,
  runStatus,
} from "../../kit/format";
import { useWaitingCount } from "../../shell/useWaitingCount";
import { dayOf, rangeOf, shareOf, spentOn } from "../costs/sums";
import { type Automation, dueToday, failuresFirst, recent, type Run, summary } from "./homeSummary";
import { t } from "../../strings";

const MOST = 8;

export function Overview({ automations, runs }: { automations: Automation[]; runs: Run[] }) {
  return (
    <Stack>
      <Waiting />
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 8 }}>
          <Ran runs={runs} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 4 }}>
          <Stack>
            <Next automations={automations} />
            <CostPart />
            <Upgrades />
          </Stack>
        </Grid.Col>
      </Grid>
    </Stack>
  );
}

function Part({ title, more, children }: { title: string; more?: ReactNode; children: ReactNode }) {
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={title}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">{title}</Title>
        {more}
      </Group>
      {children}
    </Card>
  );
}

const KINDS = [
  { name: "drafts", label: t.home.draftsToApprove },
  { name: "approvals", label: t.home.questionsToAnswer },
  { name: "consents", label: t.home.automationsToReview },
  { name: "failures", label: t.home.failuresToCheck },
] as const;

function Waiting() {
  const waiting = useWaitingCount();
  if (!KINDS.some(({ name }) => waiting[name])) {
    return (
      <Card withBorder radius="lg" p="md">
        <Group gap="sm">
          <CircleCheck size={18} color="var(--good)" aria-hidden />
          <Text size="sm">{t.home.nothingIsWaitingForYou}</Text>
        </Group>
      </Card>
    );
  }
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
      {KINDS.filter(({ name }) => waiting[name]).map(({ name, label }) => (
        <Card
          key={name}
          withBorder
          radius="lg"
          p="md"
          component={Link}
          to="/inbox"
          className="row-link"
        >
          <Text fz={28} fw={650} className="numbers" lh={1.2}>{waiting[name]}</Text>
          <Text size="sm" c="dimmed">
            {label(waiting[name])}
          </Text>
        </Card>
      ))}
    </SimpleGrid>
  );
}

function Ran({ runs }: { runs: Run[] }) {
  const seen = recent(runs);
  const shown = failuresFirst(seen).slice(0, MOST);
  const more = <Anchor component={Link} to="/runs" size="sm">{t.home.allRuns}</Anchor>;
  return (
    <Part title={t.home.sinceYesterday} more={more}>
      {seen.length
        ? <Text size="sm" c="dimmed" mb="sm">{summary(seen)}</Text>
        : <Text size="sm" c="dimmed">{t.home.nothingRanActiveAutomationsRun}</Text>}
      {shown.map((run) => (
        <Link
          key={run.id}
          to={`/runs/${run.id}`}
          className="row-link"
          style={{ borderTop: "1px solid var(--line)" }}
        >
          <Group justify="space-between" py="xs" px={4} wrap="nowrap" gap="sm">
            <div style={{ minWidth: 0 }}>
              <Text size="sm" fw={600} truncate>{escapeInvisible(run.automation)}</Text>
              <Text size="sm" c="dimmed" truncate>
                {run.outcome ? describeOutcome(run.outcome) : humanize(run.reason ?? run.status)}
              </Text>
            </div>
            <Group gap="sm" wrap="nowrap">
              <Status value={runStatus(run)} />
              <Timestamp at={runAt(run)} />
            </Group>
          </Group>
        </Link>
      ))}
    </Part>
  );
}

function Next({ automations }: { automations: Automation[] }) {
  const due = dueToday(automations);
  return (
    <Part
      title={t.home.nextRunsToday}
      more={<Anchor component={Link} to="/automations" size="sm">{t.home.automations}</Anchor>}
    >
      {due.length ? null : <Text size="sm" c="dimmed">{t.home.noRunIsScheduledBefore}</Text>}
      <Stack gap="xs">
        {due.slice(0, MOST).map((one) => (
          <Group key={one.id} justify="space-between" wrap="nowrap" gap="sm">
            <Anchor component={Link} to={`/automations/${one.id}`} size="sm" truncate>
              {escapeInvisible(one.name)}
            </Anchor>
            <Timestamp at={one.next_due_at} />
          </Group>
        ))}
      </Stack>
    </Part>
  );
}

function CostPart() {
  const { workspace } = useSession();
  const query = rangeOf("month");
  const usage = api.useQuery("get", "/api/v1/usage", { params: { query } });
  const cap = workspace.cost_cap_daily_usd;
  const today = usage.data ? spentOn(usage.data.days, dayOf(Date.now())) : 0;
  const share = cap === null ? 0 : shareOf(today, cap);
  return (
    <Part
      title={t.home.costThisMonth}
      more={
        <Anchor component={Link} to="/costs" search={{ range: "month" } as never} size="sm">
          {t.home.costs}
        </Anchor>
      }
    >
      <Text fz={26} fw={650} className="numbers">
        {usage.data ? formatUsd(usage.data.total.cost_usd) : "…"}
      </Text>
      <Text size="sm" c="dimmed" mb={cap === null ? 0 : "xs"}>
        {cap === null
          ? t.home.todayNoDailyCap(formatUsd(today))
          : t.home.ofToday(formatUsd(today), formatUsd(cap))}
      </Text>
      {cap === null ? null : <Progress value={share} aria-label={t.home.ofTodaysCap(share)} />}
    </Part>
  );
}

function Upgrades() {
  const installs = api.useQuery("get", "/api/v1/installs", {});
  const older = (installs.data?.installs ?? []).filter((one) => one.update_available);
  if (!older.length) return null;
  return (
    <Part title={t.home.recipeUpdates}>
      <Text size="sm" c="dimmed" mb="xs">{t.home.installedRecipeHasAnUpdate(older.length)}</Text>
      <Stack gap="xs">
        {older.slice(0, MOST).map((one) => (
          <Group key={one.id} gap="xs" wrap="nowrap">
            <ArrowUpCircle size={16} aria-hidden />
            <Anchor
              component={Link}
              to={`/codex/${one.source_recipe_slug}`}
              size="sm"
              truncate
            >
              {escapeInvisible(one.name)} → {one.latest_version}
            </Anchor>
          </Group>
        ))}
      </Stack>
    </Part>
  );
}
