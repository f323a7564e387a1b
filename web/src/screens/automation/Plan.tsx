// The steps: what each does, its condition, and its settings in detail.

import { Badge, Box, Code, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";
import { summarizeStep } from "../../form/stepSummary";
import { Json } from "../../kit/Json";
import { escapeInvisible, humanize } from "../../kit/format";
import type { Step } from "./automationText";
import { t } from "../../strings";

const isSteps = (value: unknown): value is Step[] =>
  Array.isArray(value) && value.length > 0 &&
  value.every((one) => one && typeof one === "object" && "step_id" in one && "action" in one);

function StepDetails({ step }: { step: Step }) {
  const { source, ...rest } = step.config ?? {};
  const settings = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => !isSteps(value)),
  );
  return (
    <Stack gap="xs" mt="xs">
      {typeof source === "string"
        ? <Json value={source} label={t.automation.theSourceOf(step.step_id)} />
        : null}
      {Object.keys(settings).length
        ? <Json value={settings} label={t.automation.theSettingsOf(step.step_id)} />
        : null}
    </Stack>
  );
}

function One({ step }: { step: Step }) {
  const [open, setOpen] = useState(false);
  const inner = Object.entries(step.config ?? {}).filter((one): one is [string, Step[]] =>
    isSteps(one[1])
  );
  const more = Object.keys(step.config ?? {}).length > inner.length;
  return (
    <Box component="li">
      <Group gap="xs">
        <Text size="sm" fw={600}>{step.step_id}</Text>
        <Badge size="sm" variant="default" tt="none" radius="sm">{step.action}</Badge>
        {more
          ? (
            <UnstyledButton
              onClick={() => setOpen(!open)}
              aria-expanded={open}
              fz="xs"
              c="dimmed"
            >
              <Group gap={2}>
                {open ? <ChevronDown size={13} /> : <ChevronRight size={13} />}{" "}
                {t.automation.settings}
              </Group>
            </UnstyledButton>
          )
          : null}
      </Group>
      <Text size="sm" c="dimmed" className="wrap-anywhere">
        {escapeInvisible(step.description || summarizeStep(step as never, undefined))}
      </Text>
      {step.when
        ? (
          <Text size="xs" c="dimmed">
            {t.automation.onlyIf(<Code>{escapeInvisible(step.when)}</Code>)}
          </Text>
        )
        : null}
      {open ? <StepDetails step={step} /> : null}
      {inner.map(([name, steps]) => (
        <Box key={name} mt="xs">
          <Text size="xs" c="dimmed">{humanize(name)}</Text>
          <Plan steps={steps} />
        </Box>
      ))}
    </Box>
  );
}

export function Plan({ steps }: { steps: Step[] }) {
  return (
    <Stack component="ol" gap="sm" my={4} pl="lg">
      {steps.map((step, at) => <One key={step.step_id + at} step={step} />)}
    </Stack>
  );
}
