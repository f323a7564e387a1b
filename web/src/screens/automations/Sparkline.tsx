// The latest runs as small bars, the newest on the right, with a text for screen readers.

import { Box, Group, Tooltip } from "@mantine/core";
import { formatCount, humanize, toneOf } from "../../kit/format";

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
  if (!recent.length) return "It has not run yet.";
  const won = recent.filter((one) => one === "succeeded").length;
  const others = new Map<string, number>();
  for (const one of recent) if (one !== "succeeded") others.set(one, (others.get(one) ?? 0) + 1);
  const rest = [...others].map(([status, times]) => `${times} ${humanize(status)}`);
  return [`Of the latest ${formatCount(recent.length, "run")}: ${won} succeeded`, ...rest].join(
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
  streak === 0 ? "" : `${streak >= 50 ? "50+" : streak} in a row`;
