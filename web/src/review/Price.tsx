// The cost per run and per month, next to the enforced caps.

import { Box, Collapse, Group, Progress, Stack, Text, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { ChevronDown, ChevronRight } from "lucide-react";
import { formatUsd } from "../kit/format";
import {
  describeCap,
  describePrice,
  describeRange,
  describeRuns,
  type Forecast,
  isFree,
} from "./reviewText";
import { t } from "../strings";

function Figure(
  { label, value, beside }: { label: string; value: string; beside?: string | null },
) {
  return (
    <Box style={{ flex: "1 1 8rem" }}>
      <Text size="xs" c="dimmed">{label}</Text>
      <Text fw={650} size="lg" className="numbers" lh={1.3}>{value}</Text>
      {beside ? <Text size="xs" c="dimmed" className="numbers">{beside}</Text> : null}
    </Box>
  );
}

function Bar({ label, usual, cap }: { label: string; usual: string; cap: string }) {
  const most = Number(cap);
  const part = most > 0 ? Math.min(100, (Number(usual) / most) * 100) : 0;
  if (!part) return null;
  const text = t.review.ofAtMost(label, formatUsd(usual), formatUsd(cap));
  return (
    <Box>
      <Text size="xs" c="dimmed" mb={2}>{text}</Text>
      <Progress
        value={part}
        size="sm"
        aria-label={text}
        color={part > 80 ? "yellow" : undefined}
      />
    </Box>
  );
}

function Steps({ steps }: { steps: Forecast["steps"] }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const Icon = isOpen ? ChevronDown : ChevronRight;
  if (!steps.length) return null;
  return (
    <Box>
      <UnstyledButton onClick={toggle} aria-expanded={isOpen}>
        <Group gap={4}>
          <Icon size={14} aria-hidden /> <Text size="sm">{t.review.perStep}</Text>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        <Stack gap={6} mt="xs">
          {steps.map((step) => (
            <Text size="xs" key={step.step_id}>
              <span className="mono">{step.step_id}</span> {Number(step.high)
                ? t.review.upTo(formatUsd(step.usual), formatUsd(step.high))
                : "$0. "}
              <Text span inherit c="dimmed">{step.why}</Text>
            </Text>
          ))}
        </Stack>
      </Collapse>
    </Box>
  );
}

export function Price(
  { forecast, compact = false }: { forecast?: Forecast | null; compact?: boolean },
) {
  if (!forecast?.usd_per_run) {
    return <Text size="sm" c="dimmed">{t.review.theCostForecastIsNot}</Text>;
  }
  const { usd_per_run: one, usd_per_month: month, runs_per_month: often, caps } = forecast;
  if (compact) return <Text size="sm">{forecast.sentence}</Text>;
  return (
    <Stack gap="sm">
      <Group gap="md" align="flex-start">
        <Figure
          label={t.review.perRun}
          value={describePrice(one, one.basis)}
          beside={describeRange(one, one.basis)}
        />
        <Figure
          label={t.review.perMonth}
          value={describePrice(month, one.basis)}
          beside={describeRange(month, one.basis)}
        />
      </Group>
      <Text size="sm">{forecast.sentence}</Text>
      {isFree(forecast) ? null : (
        <>
          <Bar label={t.review.perRun} usual={one.usual} cap={caps.usd_per_run} />
          <Bar label={t.review.perMonth} usual={month.usual} cap={caps.usd_per_month} />
        </>
      )}
      <Text size="xs" c="dimmed">
        {t.review.perMonthARunCan(
          describeRuns(often),
          often.why,
          formatUsd(caps.usd_per_run),
          describeCap(forecast),
          isFree(forecast) ? null : one.why,
        )}
      </Text>
      {forecast.notes.map((note) => <Text size="xs" c="dimmed" key={note}>{note}</Text>)}
      {isFree(forecast) ? null : <Steps steps={forecast.steps} />}
    </Stack>
  );
}
