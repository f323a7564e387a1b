// The grants with their limits; everything else is denied.

import { Stack, Text } from "@mantine/core";
import { Eye, Hand, PencilLine, Send } from "lucide-react";
import { Line, Lines } from "./Lines";
import { GrantReach, GrantTitle } from "./GrantText";
import { byReach, type Change, type Grant } from "./reviewText";
import { t } from "../strings";

const ICONS = { send: Send, keep: PencilLine, read: Eye } as const;

function grantLine(grant: Grant) {
  return (
    <Line
      key={grant.capability + JSON.stringify(grant.params)}
      icon={grant.waits_for_person ? Hand : ICONS[grant.effect]}
      strong={grant.effect === "send"}
      why={<GrantReach grant={grant} />}
    >
      <GrantTitle grant={grant} />
    </Line>
  );
}

export function GrantList({ grants }: { grants: Grant[] }) {
  const sends = grants.some((one) => one.effect === "send");
  return (
    <Stack gap="sm">
      <Lines title={t.review.itCan} none={t.review.nothingBeyondItsOwnSteps}>
        {byReach(grants).map(grantLine)}
      </Lines>
      <Text size="xs" c="dimmed">{t.review.itCannotCallAnythingElse(sends)}</Text>
    </Stack>
  );
}

/** The additional grants of a change. */
export function WidenedList({ widened, grants }: { widened: Change["widened"]; grants: Grant[] }) {
  return (
    <Lines title={t.review.newPermissions}>
      {widened.map((one) => {
        const known = grants.find((grant) => grant.capability === one.capability);
        const grant = { ...known, ...one };
        return (
          <Line
            key={one.capability + JSON.stringify(one.params)}
            icon={known ? ICONS[known.effect] : PencilLine}
            strong
            why={<GrantReach grant={grant} />}
          >
            <GrantTitle grant={grant} />
          </Line>
        );
      })}
    </Lines>
  );
}
