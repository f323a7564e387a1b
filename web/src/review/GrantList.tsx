// The grants with their limits; everything else is denied.

import { Stack, Text } from "@mantine/core";
import { Eye, Hand, PencilLine, Send } from "lucide-react";
import { Line, Lines } from "./Lines";
import { byReach, type Change, describeEffect, describeLimits, type Grant } from "./reviewText";
import { escapeInvisible } from "../kit/format";
import { t } from "../strings";

const ICONS = { send: Send, keep: PencilLine, read: Eye } as const;

function grantLine(grant: Grant) {
  const bounds = describeLimits(grant.params);
  return (
    <Line
      key={grant.capability + bounds}
      icon={grant.waits_for_person ? Hand : ICONS[grant.effect]}
      strong={grant.effect === "send"}
      why={
        <>
          {describeEffect(grant)} · <span className="mono">{grant.capability}</span>
        </>
      }
    >
      {escapeInvisible(grant.label)}
      {bounds ? <Text span inherit c="dimmed">{` ${bounds}`}</Text> : null}
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
        const bounds = describeLimits(one.params);
        return (
          <Line
            key={one.capability + bounds}
            icon={known ? ICONS[known.effect] : PencilLine}
            strong
            why={<span className="mono">{one.capability}</span>}
          >
            {known?.label ?? one.capability}
            {bounds ? ` ${bounds}` : ""}
          </Line>
        );
      })}
    </Lines>
  );
}
