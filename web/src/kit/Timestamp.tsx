// A timestamp: relative, with the exact time as a tooltip.

import { Text, Tooltip } from "@mantine/core";
import { useClock } from "./clock";
import { away, moment } from "./format";

export function Moment({ at, size = "sm" }: { at: string | null | undefined; size?: string }) {
  const now = useClock();
  if (!at) return <Text span size={size} c="dimmed">—</Text>;
  return (
    <Tooltip label={moment(at)} openDelay={300}>
      <Text span size={size} component="time" dateTime={at} className="numbers">
        {away(at, now)}
      </Text>
    </Tooltip>
  );
}
