// A rehearsal, firing by firing: what happened, and what the changed version would have done.

import { Anchor, Badge, Box, Card, Group, Loader, Progress, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { escapeInvisible, formatDateTime, formatUsd } from "../kit/format";
import { describeEffects, type Firing, type Rehearsal } from "./useRehearsal";
import { t } from "../strings";

const spelled = (value: unknown) => escapeInvisible(JSON.stringify(value) ?? "nothing");

function Side({ label, side }: { label: string; side: Firing["then"] | Firing["now"] }) {
  return (
    <Box style={{ flex: "1 1 12rem", minWidth: 0 }} className="wrap-anywhere">
      <Text size="xs" c="dimmed">{label}</Text>
      <Text size="sm">{describeEffects(side)}</Text>
      {side
        ? (
          <Text size="xs" c="dimmed" className="numbers">
            {side.status} · {formatUsd(side.cost_usd)}
            {side.error ? ` · ${side.error}` : ""}
            {side.reason ? ` · ${side.reason}` : ""}
          </Text>
        )
        : null}
    </Box>
  );
}

function Difference({ one }: { one: Firing["differences"][number] }) {
  return (
    <Box component="li" className="wrap-anywhere">
      <Text size="sm">{one.says}</Text>
      {(one.fields ?? []).map((field) => (
        <Text size="xs" c="dimmed" key={field.pointer}>
          <span className="mono">{field.pointer || "/"}</span> {spelled(field.then)} →{" "}
          {spelled(field.now)}
        </Text>
      ))}
    </Box>
  );
}

function Verdict({ firing }: { firing: Firing }) {
  if (!firing.done) return <Loader size="xs" aria-label={t.review.running} />;
  return (
    <Badge color={firing.otherwise ? "yellow" : "teal"} variant="light" radius="sm" tt="none">
      {firing.otherwise ? t.review.different : t.review.theSame}
    </Badge>
  );
}

function FiringCard({ firing }: { firing: Firing }) {
  const at = (firing.then ?? firing.now)?.at;
  const run = firing.now?.run_id ?? firing.then?.run_id;
  const live = firing.now?.live.length ?? 0;
  return (
    <Card withBorder radius="md" p="sm" component="li">
      <Group justify="space-between" mb={6}>
        <Text size="sm" fw={600} className="numbers">
          {at ? formatDateTime(at) : t.review.sample}
        </Text>
        <Group gap="xs">
          <Verdict firing={firing} />
          {run
            ? (
              <Anchor
                component={Link}
                to="/runs/$runId"
                params={{ runId: run } as never}
                size="xs"
              >
                {t.review.open}
              </Anchor>
            )
            : null}
        </Group>
      </Group>
      <Group gap="md" align="flex-start">
        <Side label={t.review.before} side={firing.then} />
        <Side label={t.review.now} side={firing.now} />
      </Group>
      {firing.differences.length
        ? (
          <Stack gap={4} component="ul" mt="xs" mb={0} pl="md">
            {firing.differences.map((one, at) => <Difference key={at} one={one} />)}
          </Stack>
        )
        : null}
      {firing.note ? <Text size="xs" c="dimmed" mt={6}>{firing.note}</Text> : null}
      {live
        ? <Text size="xs" c="dimmed" mt={6}>{t.review.responseWasNotRecordedAnd(live)}</Text>
        : null}
    </Card>
  );
}

export function Firings({ found }: { found: Rehearsal }) {
  const done = found.firings.filter((one) => one.done).length;
  const all = found.firings.length;
  return (
    <Stack gap="sm">
      {found.done ? <Text fw={600}>{found.summary}</Text> : (
        <Box role="status">
          <Text size="sm" mb={4}>{t.review.ofFiringRehearsed(done, all)}</Text>
          <Progress
            value={all ? (done / all) * 100 : 0}
            animated
            aria-label={t.review.firingsRehearsed}
          />
        </Box>
      )}
      <Stack gap="xs" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
        {found.firings.map((one, at) => <FiringCard key={at} firing={one} />)}
      </Stack>
      <Text size="xs" c="dimmed">
        {t.review.theRehearsalCost(formatUsd(found.spent_usd))}
      </Text>
    </Stack>
  );
}
