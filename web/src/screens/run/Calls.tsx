// The capability calls of a step: arguments, result, and the draft that waits for approval.

import { Anchor, Badge, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "../../api/client";
import { Json } from "../../kit/Json";
import { formatDuration, formatUsd, humanize } from "../../kit/format";
import { ErrorDetails } from "./ErrorDetails";
import { t } from "../../strings";

export type Call = Schemas["RunDetail"]["calls"][number];

const OUTCOMES: Record<string, [string, string]> = {
  ok: [t.run.done, "teal"],
  done: [t.run.done, "teal"],
  held: [t.run.waitsForAPerson, "yellow"],
  pretended: [t.run.simulated, "gray"],
  denied: ["refused", "red"],
  failed: ["failed", "red"],
  error: ["failed", "red"],
};

const idIn = (value: unknown, name: string): string | null => {
  if (typeof value !== "object" || value === null) return null;
  const found = (value as Record<string, unknown>)[name];
  return typeof found === "string" ? found : null;
};

/** The draft that a call created, if any. */
export const draftOf = (call: Call) => idIn(call.result, "draft_id");

function Outcome({ outcome }: { outcome: string }) {
  const [text, color] = OUTCOMES[outcome] ?? [humanize(outcome), "gray"];
  return <Badge variant="light" color={color} radius="sm" tt="none">{text}</Badge>;
}

function One({ call }: { call: Call }) {
  const draft = draftOf(call);
  const facts = [formatDuration(call.ms / 1000), call.cost_usd ? formatUsd(call.cost_usd) : null]
    .filter(Boolean);
  return (
    <details>
      <summary>
        <Group gap="xs" display="inline-flex" component="span">
          <Text span size="sm" className="mono wrap-anywhere">{call.capability}</Text>
          <Outcome outcome={call.outcome} />
          <Text span size="xs" c="dimmed">{facts.join(" · ")}</Text>
        </Group>
      </summary>
      <Stack gap="xs" pt="xs" pl="md">
        {draft
          ? (
            <Anchor component={Link} to={`/inbox?draft=${draft}`} size="sm">
              {t.run.openTheDraftInThe}
            </Anchor>
          )
          : null}
        <Text size="xs" c="dimmed">{t.run.arguments}</Text>
        <Json
          value={call.arguments}
          label={t.run.theArgumentsOf(call.capability)}
          most={240}
        />
        {call.error
          ? (
            <ErrorDetails
              error={call.error}
              about={{ capability: call.capability, step: call.step }}
            />
          )
          : call.result === null
          ? <Text size="xs" c="dimmed">{t.run.theResponseIsTheSteps}</Text>
          : (
            <>
              <Text size="xs" c="dimmed">{t.run.response}</Text>
              <Json
                value={call.result}
                label={t.run.theResponseOf(call.capability)}
                most={240}
              />
            </>
          )}
      </Stack>
    </details>
  );
}

export function Calls({ calls }: { calls: Call[] }) {
  return (
    <Stack gap={6}>
      {calls.map((call) => (
        <One key={`${call.step} ${call.item} ${call.attempt} ${call.call}`} call={call} />
      ))}
    </Stack>
  );
}
