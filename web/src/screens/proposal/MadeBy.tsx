// The author, and the digest of exactly what would be saved.

import { Group, Stack, Text } from "@mantine/core";
import { CopyIcon } from "../../kit/Copy";
import { Part } from "../../review";
import { describeAuthor, type Proposal } from "../../review/reviewText";
import { t } from "../../strings";

const SHORT = 12;

export function MadeBy({ proposal }: { proposal: Proposal }) {
  const { digest, revision, made_by: made } = proposal;
  return (
    <Part title={t.proposal.createdBy}>
      <Stack gap="xs">
        <Text size="sm">{describeAuthor(proposal)}</Text>
        {made.refused.map((one) => (
          <Text size="xs" c="dimmed" key={one}>{t.proposal.rejected(one)}</Text>
        ))}
        <Group gap={4}>
          <Text size="xs" c="dimmed">
            {t.proposal.revisionDigest(
              revision,
              <span className="mono">{digest.slice(0, SHORT)}…</span>,
            )}
          </Text>
          <CopyIcon text={digest} label={t.proposal.copyTheDigest} />
        </Group>
      </Stack>
    </Part>
  );
}
