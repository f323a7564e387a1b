// The progress of a proposal: elapsed time and current stage.

import { Box, Group, Loader, Text } from "@mantine/core";
import { formatDuration } from "../../kit/format";
import { useSeconds } from "./usePropose";
import { t } from "../../strings";

const A_WHILE = 20;

/** An accurate message for the elapsed time: rules are quick, a model has up to three attempts. */
export function describeProgress(byModel: boolean, seconds: number): string {
  if (!byModel) return t.create.rulesReadYourDescriptionThe;
  if (seconds < A_WHILE) return t.create.theModelWritesADefinition;
  return t.create.theModelsOutputIsValidated;
}

export function ProposalProgress(
  { byModel, what = t.create.creatingAProposal }: { byModel: boolean; what?: string },
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
