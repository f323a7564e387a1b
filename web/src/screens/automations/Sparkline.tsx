// The latest runs as small bars, the newest on the right, with a text for screen readers.

import { Box, Group, Tooltip } from "@mantine/core";
import { humanize, toneOf } from "../../kit/format";
import { t } from "../../strings";

const PAINT = {
  good: "var(--good)",
  bad: "var(--bad)",
  busy: "var(--busy)",
  quiet: "var(--quiet)",
};
// A failure has a lower bar: colour is not the only difference.
const HEIGHT = { good: 16, bad: 8, busy: 12, quiet: 4 };

/** "3 of 4 succeeded, 1 failed" */
export function describeRecent(recent: string[]): string {
  if (!recent.length) return t.automations.itHasNotRunYet;
  const won = recent.filter((one) => one === "succeeded").length;
  const others = new Map<string, number>();
  for (const one of recent) if (one !== "succeeded") others.set(one, (others.get(one) ?? 0) + 1);
  const rest = [...others].map(([status, times]) => `${times} ${humanize(status)}`);
  return [t.automations.ofTheLatestRunSucceeded(recent.length, won), ...rest].join(
    ", ",
  );
}

export function Sparkline({ recent }: { recent: string[] }) {
  const text = describeRecent(recent);
  return (
    <Tooltip label={text} openDelay={300}>
      <Group
        gap={2}
        wrap="nowrap"
        align="flex-end"
        h={16}
        role="img"
        aria-label={text}
        w="fit-content"
      >
        {recent.map((status, at) => (
          <Box
            key={at}
            w={5}
            h={HEIGHT[toneOf(status)]}
            bg={PAINT[toneOf(status)]}
            style={{ borderRadius: 2 }}
          />
        ))}
      </Group>
    </Tooltip>
  );
}

export const describeStreak = (streak: number) =>
  streak === 0 ? "" : t.automations.inARow(streak >= 50 ? "50+" : streak);
