// System health: the state of each component, and how to fix it.

import { Card, Group, List, SimpleGrid, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, CircleX } from "lucide-react";
import { api, client } from "../../api/client";
import { useConnected } from "../../api/live";
import { useHasRole } from "../../api/session";
import { ProblemNote, QueryResult } from "../../kit/QueryResult";
import { CopyAs, CopyButton } from "../../kit/Copy";
import { PageHead } from "../../kit/PageHead";
import { escapeInvisible, humanize } from "../../kit/format";
import { useHalts } from "./HaltControls";
import { Halts, Workers } from "./Operations";
import {
  haltsPart,
  metricParts,
  type Numbers,
  parseHealth,
  parseMetrics,
  type Part,
  partsOf,
  report,
  sandboxPart,
  type Tone,
  verdict,
  versionIn,
} from "./healthText";
import { locale, t } from "../../strings";

const EVERY = 10_000;
const LOOKS: Record<Tone, { icon: typeof CircleCheck; color: string; label: string }> = {
  ok: { icon: CircleCheck, color: "teal", label: t.health.working },
  warning: { icon: CircleAlert, color: "yellow", label: t.health.warning },
  failed: { icon: CircleX, color: "red", label: t.health.notWorking2 },
};

export default function Health() {
  const query = api.useQuery("get", "/api/v1/health", {}, {
    refetchInterval: EVERY,
    retry: false,
  });
  const sandbox = api.useQuery("get", "/api/v1/health/scripts", {}, { staleTime: Infinity });
  const numbers = useNumbers();
  const halts = useHalts();
  const live = useConnected();
  const health = parseHealth(query.data, query.error);
  const parts: Part[] = [
    ...(health ? partsOf(health) : []),
    ...(numbers.data ? metricParts(numbers.data) : []),
    ...(halts.data?.halts.length ? [haltsPart(halts.data.halts)] : []),
    ...(sandbox.data ? [sandboxPart(sandbox.data)] : []),
    {
      name: t.health.liveUpdates,
      tone: live ? "ok" : "warning",
      text: live ? t.health.changesAppearImmediately : t.health.reconnecting,
    },
  ];
  const version = numbers.data ? versionIn(numbers.data) : null;
  return (
    <>
      <PageHead
        title={t.health.systemHealth}
        sub={t.health.checkedEveryTenSeconds(version ? t.health.version(version) : "")}
        right={
          <>
            <CopyButton
              text={report(parts, version, new Date())}
              label={t.health.copyReport}
            />
            <CopyAs
              operations={[
                {
                  label: t.health.checkHealth,
                  operation: { method: "GET", path: "/api/v1/health" },
                },
                {
                  label: t.health.prometheusMetrics,
                  operation: { method: "GET", path: "/api/v1/metrics" },
                },
              ]}
            />
          </>
        }
      />
      <QueryResult of={{ ...query, data: health ?? undefined } as never}>
        {() => (
          <Stack>
            <HealthVerdict parts={parts} />
            <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
              {parts.map((one) => <PartCard key={one.name} part={one} />)}
            </SimpleGrid>
            <Halts />
            {numbers.error ? <ProblemNote problem={numbers.error} /> : null}
            {numbers.data ? <LastHour numbers={numbers.data} /> : null}
            <Workers />
            {sandbox.data ? <SandboxLayers layers={sandbox.data.walls} /> : null}
            <BackupNote />
          </Stack>
        )}
      </QueryResult>
    </>
  );
}

function useNumbers() {
  return useQuery({
    queryKey: ["get", "/api/v1/metrics"],
    refetchInterval: EVERY,
    queryFn: async () => {
      const { data } = await client.GET("/api/v1/metrics", { parseAs: "text" });
      return parseMetrics(data ?? "");
    },
  });
}

function HealthVerdict({ parts }: { parts: Part[] }) {
  const { tone, text } = verdict(parts);
  const { icon: Icon, color } = LOOKS[tone];
  return (
    <Card withBorder radius="lg" p="lg" role="status">
      <Group>
        <ThemeIcon size={44} radius="xl" variant="light" color={color}>
          <Icon size={24} />
        </ThemeIcon>
        <Title order={2} size="h3">{text}</Title>
      </Group>
    </Card>
  );
}

function PartCard({ part }: { part: Part }) {
  const { icon: Icon, color, label: text } = LOOKS[part.tone];
  return (
    <Card withBorder radius="lg" p="md">
      <Group gap="sm" wrap="nowrap" align="flex-start">
        <ThemeIcon variant="light" color={color} radius="xl" mt={2}>
          <Icon size={16} role="img" aria-label={text} />
        </ThemeIcon>
        <div style={{ minWidth: 0 }}>
          <Text fw={600}>{escapeInvisible(part.name)}</Text>
          <Text size="sm" c="dimmed" className="wrap-anywhere">{part.text}</Text>
          {part.advice ? <Text size="sm" mt={4}>{part.advice}</Text> : null}
        </div>
      </Group>
    </Card>
  );
}

const STATUSES = ["succeeded", "failed", "running", "waiting", "pending", "timed_out", "dead"];

function LastHour({ numbers }: { numbers: Numbers }) {
  const counts = STATUSES.map((status) => ({
    status,
    runs: numbers.get(`runs{status="${status}"}`) ?? 0,
  }));
  return (
    <Card withBorder radius="lg" p="lg">
      <Title order={2} size="h4" mb="sm">{t.health.runsInTheLastHour}</Title>
      <Group gap="xl">
        {counts.map(({ status, runs }) => (
          <div key={status}>
            <Text fz={22} fw={650} className="numbers">
              {runs.toLocaleString(locale)}
            </Text>
            <Text size="sm" c="dimmed">{humanize(status)}</Text>
          </div>
        ))}
      </Group>
    </Card>
  );
}

function SandboxLayers({ layers }: { layers: string[] }) {
  return (
    <Card withBorder radius="lg" p="lg">
      <Title order={2} size="h4" mb="sm">{t.health.layersOfTheScriptSandbox}</Title>
      <List size="sm" spacing={4}>
        {layers.map((one) => <List.Item key={one}>{one}</List.Item>)}
      </List>
    </Card>
  );
}

/** The server cannot know when the last backup was made; it describes what a backup includes. */
function BackupNote() {
  const may = useHasRole("admin");
  if (!may) return null;
  return (
    <Card withBorder radius="lg" p="lg">
      <Title order={2} size="h4" mb="xs">{t.health.maintenance}</Title>
      <List size="sm" spacing={4}>
        <List.Item>{t.health.aBackupConsistsOfThe}</List.Item>
        <List.Item>
          {t.health.runOnTheServerFor(<span className="mono">mainspring doctor</span>)}
        </List.Item>
        <List.Item>
          {t.health.returnsAnErrorStatusWhen(<span className="mono">/api/v1/health</span>)}
        </List.Item>
      </List>
    </Card>
  );
}
