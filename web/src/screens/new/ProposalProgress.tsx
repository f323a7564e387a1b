// The progress of a proposal: elapsed time and current stage.

import { Box, Group, Loader, Text } from "@mantine/core";
import { formatDuration } from "../../kit/format";
import { useSeconds } from "./usePropose";

const A_WHILE = 20;

/** An accurate message for the elapsed time: rules are quick, a model has up to three attempts. */
export function describeProgress(byModel: boolean, seconds: number): string {
  if (!byModel) return "Rules read your words, and the result is judged and reviewed.";
  if (seconds < A_WHILE) return "The model writes a definition. It can take a minute.";
  return "What the model hands in is judged like every definition; it may try three times.";
}

export function ProposalProgress(
  { byModel, what = "Writing a proposal" }: { byModel: boolean; what?: string },
) {
  const seconds = useSeconds();
  return (
    <Group gap="sm" wrap="nowrap" role="status" aria-live="polite">
      <Loader size="sm" />
      <Box>
        <Text size="sm" fw={600}>
          {what} …{" "}
          <Text span inherit fw={400} c="dimmed" className="numbers" aria-hidden>
            {seconds ? formatDuration(seconds) : ""}
          </Text>
        </Text>
        <Text size="xs" c="dimmed">{describeProgress(byModel, seconds)}</Text>
      </Box>
    </Group>
  );
}
