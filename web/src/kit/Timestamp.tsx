// A timestamp: relative, with the exact time as a tooltip.

import { Text, Tooltip } from "@mantine/core";
import { useClock } from "./clock";
import { formatDateTime, formatRelative } from "./format";

export function Timestamp({ at, size = "sm" }: { at: string | null | undefined; size?: string }) {
  const now = useClock();
  if (!at) return <Text span size={size} c="dimmed">—</Text>;
  return (
    <Tooltip label={formatDateTime(at)} openDelay={300}>
      <Text span size={size} component="time" dateTime={at} className="numbers">
        {formatRelative(at, now)}
      </Text>
    </Tooltip>
  );
}
