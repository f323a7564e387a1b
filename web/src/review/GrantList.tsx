// The grants with their limits; everything else is denied.

import { Stack, Text } from "@mantine/core";
import { Eye, Hand, PencilLine, Send } from "lucide-react";
import { Line, Lines } from "./Lines";
import { byReach, type Change, describeLimits, type Grant } from "./reviewText";
import { escapeInvisible } from "../kit/format";
import { t } from "../strings";

const EFFECTS = {
  send: [t.review.sendsOutside, Send],
  keep: [t.review.changesDataInThisWorkspace, PencilLine],
  read: [t.review.onlyReads, Eye],
} as const;

function grantLine(grant: Grant) {
  const [far, icon] = EFFECTS[grant.effect];
  const bounds = describeLimits(grant.params);
  return (
    <Line
      key={grant.capability + bounds}
      icon={grant.waits_for_person ? Hand : icon}
      strong={grant.effect === "send"}
      why={
        <>
          {grant.waits_for_person ? t.review.asksForApprovalEachTime : far} ·{" "}
          <span className="mono">{grant.capability}</span>
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
            icon={known ? EFFECTS[known.effect][1] : PencilLine}
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
