// All workflows: targets, next deadlines, and the state of their automations.

import {
  Anchor,
  Button,
  Card,
  Group,
  Progress,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Title,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CalendarDays, Plus, Target, Zap } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { Status } from "../../kit/Status";
import { escapeInvisible, formatDate } from "../../kit/format";
import {
  amount,
  daysTo,
  describeDistance,
  nextOf,
  percentOf,
  todayOf,
  type WorkflowSummary,
} from "./progress";
import { NewWorkflow } from "./NewWorkflow";
import { t } from "../../strings";

const STATUSES = ["draft", "active", "paused", "archived"] as const;
const CHOICES = [
  { value: "", label: t.workflows.all },
  { value: "active", label: t.workflows.active },
  {
    value: "paused",
    label: t.workflows.paused,
  },
  { value: "draft", label: t.workflows.drafts },
  { value: "archived", label: t.workflows.archived },
];
const MOST = 100;
const OPERATIONS = [{
  label: t.workflows.listProjects,
  operation: { method: "GET" as const, path: "/api/v1/workflows", tool: "list_workflows" },
}, {
  label: t.workflows.createAProject,
  operation: {
    method: "POST" as const,
    path: "/api/v1/workflows",
    tool: "create_workflow",
    body: { title: t.workflows.launch },
  },
}];

export default function Workflows() {
  const [{ status }, change] = useUrlState();
  const [making, setMaking] = useState(false);
  const may = useHasRole("editor");
  const filter = STATUSES.find((one) => one === status);
  const workflows = api.useQuery("get", "/api/v1/workflows", {
    params: { query: { limit: MOST, status: filter } },
  }, { placeholderData: (before) => before });
  const add = may
    ? (
      <Button leftSection={<Plus size={16} />} onClick={() => setMaking(true)}>
        {t.workflows.newProject2}
      </Button>
    )
    : null;
  return (
    <>
      <PageHead
        title={t.workflows.projects}
        sub={t.workflows.aProjectGroupsKpisDeadlines}
        right={
          <>
            <CopyAs operations={OPERATIONS} />
            {add}
          </>
        }
      />
      <QueryResult of={workflows}>
        {({ workflows: held }) =>
          !held.length && !filter ? <None add={add} /> : (
            <>
              <SegmentedControl
                mb="md"
                size="xs"
                aria-label={t.workflows.status}
                data={CHOICES}
                value={filter ?? ""}
                onChange={(value) => change({ status: value || undefined })}
              />
              <Cards held={held} />
            </>
          )}
      </QueryResult>
      <NewWorkflow opened={making} close={() => setMaking(false)} />
    </>
  );
}

function None({ add }: { add: ReactNode }) {
  return (
    <Empty
      icon={Target}
      title={t.workflows.noProjectsYet}
      actions={
        <>
          {add}
          <Button
            variant="default"
            component={Link}
            to="/codex"
            search={{ kind: "workflow" } as never}
          >
            {t.workflows.startFromARecipe}
          </Button>
        </>
      }
    >
      {t.workflows.writeDownAGoalIts}
    </Empty>
  );
}

function Cards({ held }: { held: WorkflowSummary[] }) {
  if (!held.length) return <Text c="dimmed" size="sm">{t.workflows.noProjectsWithThisStatus}</Text>;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      {held.map((one) => <Entry key={one.id} one={one} />)}
    </SimpleGrid>
  );
}

function Entry({ one }: { one: WorkflowSummary }) {
  const today = todayOf();
  const next = nextOf(one.deadlines, today);
  const active = one.automations.filter(({ state }) => state === "active").length;
  return (
    <Card withBorder radius="lg" p="lg" component="article">
      <Stack gap="sm" h="100%">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Title order={2} size="h5" className="wrap-anywhere">
            <Anchor component={Link} to={`/workflows/${one.id}`} inherit>
              {escapeInvisible(one.title)}
            </Anchor>
          </Title>
          <Status value={one.status} />
        </Group>
        <Text size="sm" c="dimmed" lineClamp={2}>
          {one.charter || t.workflows.noCharterYet}
        </Text>
        {one.kpis.slice(0, 3).map((kpi) => (
          <Stack key={kpi.name} gap={4}>
            <Group justify="space-between" gap="xs">
              <Text size="sm">{escapeInvisible(kpi.name)}</Text>
              <Text size="sm" c="dimmed" className="numbers">
                {t.workflows.of(amount(kpi.current), amount(kpi.target, kpi.unit))}
              </Text>
            </Group>
            <Progress
              value={percentOf(kpi)}
              size="sm"
              aria-label={t.workflows.perCent(kpi.name, percentOf(kpi))}
            />
          </Stack>
        ))}
        {one.kpis.length > 3
          ? <Text size="xs" c="dimmed">{t.workflows.andMoreKpi(one.kpis.length - 3)}</Text>
          : null}
        <Group gap="lg" mt="auto" pt={4}>
          <Fact icon={<CalendarDays size={14} aria-hidden />}>
            {next
              ? `${next.label}, ${formatDate(next.date)} (${
                describeDistance(daysTo(next.date, today))
              })`
              : t.workflows.noUpcomingDeadline}
          </Fact>
          <Fact icon={<Zap size={14} aria-hidden />}>
            {one.automations.length
              ? t.workflows.automationActive(one.automations.length, active)
              : t.workflows.noAutomations}
          </Fact>
        </Group>
      </Stack>
    </Card>
  );
}

function Fact({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return (
    <Group gap={6} wrap="nowrap" c="dimmed">
      {icon}
      <Text size="xs">{children}</Text>
    </Group>
  );
}
