// The grants with their limits; everything else is denied.

import { Stack, Text } from "@mantine/core";
import { Eye, Hand, PencilLine, Send } from "lucide-react";
import { Line, Lines } from "./Lines";
import { byReach, type Change, describeLimits, type Grant } from "./reviewText";
import { escapeInvisible } from "../kit/format";

const EFFECTS = {
  send: ["is sent outside", Send],
  keep: ["changes what is kept here", PencilLine],
  read: ["only reads", Eye],
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
          {grant.waits_for_person ? "asks each time, in the inbox" : far} ·{" "}
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
      <Lines title="It may" none="Do nothing beyond its own steps.">
        {byReach(grants).map(grantLine)}
      </Lines>
      <Text size="xs" c="dimmed">
        It may not call anything else{sends ? "" : ", and it sends nothing outside"}. The gate
        checks each call when it runs.
      </Text>
    </Stack>
  );
}

/** The additional grants of a change. */
export function WidenedList({ widened, grants }: { widened: Change["widened"]; grants: Grant[] }) {
  return (
    <Lines title="It may then, and may not now">
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
