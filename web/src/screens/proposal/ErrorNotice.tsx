// An error without a field; and a link to continue if the automation has changed.

import { Anchor, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Problem } from "../../api/problem";
import { ProblemNote } from "../../kit/QueryResult";
import type { Proposal } from "../../review/reviewText";
import { t } from "../../strings";

export function ErrorNotice({ problem, proposal }: { problem: unknown; proposal: Proposal }) {
  const moved = problem instanceof Problem && problem.code === "version_changed";
  const id = proposal.automation_id;
  return (
    <Stack gap="xs">
      <ProblemNote problem={problem} />
      {moved && id
        ? (
          <Text size="sm">
            {t.proposal.or(
              <Anchor
                underline="always"
                component={Link}
                to="/automations/$automationId"
                params={{ automationId: id } as never}
              >
                {t.proposal.showTheCurrentVersion}
              </Anchor>,
              <Anchor
                underline="always"
                component={Link}
                to="/new"
                search={{ automation: id, words: proposal.request } as never}
              >
                {t.proposal.proposeTheSameChangeAgain}
              </Anchor>,
            )}
          </Text>
        )
        : null}
    </Stack>
  );
}
