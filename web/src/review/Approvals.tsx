// Each outside write with its approval mode: ask each time, or send automatically.

import { Box, SegmentedControl, Stack, Text } from "@mantine/core";
import { same, valueAt } from "../form/pointers";
import { visible } from "../kit/words";
import type { ImpactOf } from "./reading";

type Write = ImpactOf["writes"][number];
export type Choose = (pointer: string, value: unknown) => void;

const CHOICES = [
  { value: "ask", label: "Ask me each time" },
  { value: "automatic", label: "Send automatically" },
];

/** The mode in the definition now; otherwise the one that was reviewed. */
export function modeOf(write: Write, definition: unknown): Write["mode"] {
  const said = valueAt(definition, write.pointer);
  if (said === undefined) return write.mode;
  if (same(said, write.values.automatic)) return "automatic";
  return same(said, write.values.ask) ? "ask" : write.mode;
}

type Props = { writes: Write[]; definition?: unknown; choose?: Choose };

export function Approvals({ writes, definition, choose }: Props) {
  return (
    <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
      {writes.map((write) => (
        <Box component="li" key={write.pointer + write.capability}>
          <Text size="sm" mb={4} className="wrap-anywhere">
            <b>{visible(write.step)}</b> · {visible(write.label)}
          </Text>
          {choose && !write.only_asks_because
            ? (
              <SegmentedControl
                size="xs"
                fullWidth
                data={CHOICES}
                value={modeOf(write, definition)}
                onChange={(mode) => choose(write.pointer, write.values[mode as Write["mode"]])}
                aria-label={`Approval of ${write.step}: ${write.capability}`}
              />
            )
            : (
              <Text size="sm" c="dimmed">
                {write.mode === "automatic" ? "Sent automatically." : "Asks each time."}{" "}
                {write.only_asks_because ?? ""}
              </Text>
            )}
        </Box>
      ))}
    </Stack>
  );
}
