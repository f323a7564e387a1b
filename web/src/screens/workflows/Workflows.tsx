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
import { escapeInvisible, formatCount, formatDate } from "../../kit/format";
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

const STATUSES = ["draft", "active", "paused", "archived"] as const;
const CHOICES = [
  { value: "", label: "All" },
  { value: "active", label: "Active" },
  {
    value: "paused",
    label: "Paused",
  },
  { value: "draft", label: "Drafts" },
  { value: "archived", label: "Archived" },
];
const MOST = 100;
const OPERATIONS = [{
  label: "List workflows",
  operation: { method: "GET" as const, path: "/api/v1/workflows", tool: "list_workflows" },
}, {
  label: "Make a workflow",
  operation: {
    method: "POST" as const,
    path: "/api/v1/workflows",
    tool: "create_workflow",
    body: { title: "Launch" },
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
        New workflow
      </Button>
    )
    : null;
  return (
    <>
      <PageHead
        title="Workflows"
        sub="One piece of work held together: its numbers, its days, its people, a board, and the automations that go with it."
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
                aria-label="Status"
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
      title="No workflows yet"
      actions={
        <>
          {add}
          <Button
            variant="default"
            component={Link}
            to="/codex"
            search={{ kind: "workflow" } as never}
          >
            Start from a recipe
          </Button>
        </>
      }
    >
      Write down what a piece of work is for, which numbers it is to reach and by when. Attach the
      automations that serve it: one switch then starts or pauses all of them.
    </Empty>
  );
}

function Cards({ held }: { held: WorkflowSummary[] }) {
  if (!held.length) return <Text c="dimmed" size="sm">None has this status.</Text>;
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
          {one.charter || "Nobody has written down yet what it is for."}
        </Text>
        {one.kpis.slice(0, 3).map((kpi) => (
          <Stack key={kpi.name} gap={4}>
            <Group justify="space-between" gap="xs">
              <Text size="sm">{escapeInvisible(kpi.name)}</Text>
              <Text size="sm" c="dimmed" className="numbers">
                {amount(kpi.current)} of {amount(kpi.target, kpi.unit)}
              </Text>
            </Group>
            <Progress
              value={percentOf(kpi)}
              size="sm"
              aria-label={`${kpi.name}: ${percentOf(kpi)} per cent`}
            />
          </Stack>
        ))}
        {one.kpis.length > 3
          ? <Text size="xs" c="dimmed">and {formatCount(one.kpis.length - 3, "more KPI")}</Text>
          : null}
        <Group gap="lg" mt="auto" pt={4}>
          <Fact icon={<CalendarDays size={14} aria-hidden />}>
            {next
              ? `${next.label}, ${formatDate(next.date)} (${
                describeDistance(daysTo(next.date, today))
              })`
              : "no deadline ahead"}
          </Fact>
          <Fact icon={<Zap size={14} aria-hidden />}>
            {one.automations.length
              ? `${formatCount(one.automations.length, "automation")}, ${active} active`
              : "no automations"}
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
