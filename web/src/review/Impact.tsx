// The impact: what starts it, which external systems it reads or writes, what it stores, where
// secrets are sent, and what needs approval.

import { Stack, Text } from "@mantine/core";
import { Archive, Globe, Hand, KeyRound, Send, Zap } from "lucide-react";
import { capitalize, escapeInvisible, humanize } from "../kit/format";
import { Line, Lines } from "./Lines";
import type { ImpactOf } from "./reviewText";
import { t } from "../strings";

const listed = (names: string[]) => names.join(", ");
const inSteps = (steps: string[]) => steps.length ? t.review.in(listed(steps)) : null;

function outside(one: ImpactOf["outside"][number]) {
  const sends = one.effect === "send";
  return (
    <Line
      key={one.system + one.effect + listed(one.hosts)}
      icon={sends ? Send : Globe}
      strong={sends}
      why={`${sends ? t.review.receivesData : t.review.isQueried}${
        one.why.length ? t.review.by(listed(one.why)) : ""
      }`}
    >
      <b>{one.system}</b>
      {one.hosts.length ? t.review.at(listed(one.hosts)) : ""}
    </Line>
  );
}

function secret(one: ImpactOf["secrets"][number]) {
  return (
    <Line
      key={one.name}
      icon={KeyRound}
      why={one.capabilities.length ? t.review.with(listed(one.capabilities)) : null}
    >
      <span className="mono">{escapeInvisible(one.name)}</span>
      {one.hosts.length ? t.review.isSentTo(listed(one.hosts)) : ""}
    </Line>
  );
}

export function Starts({ wakes }: { wakes: ImpactOf["wakes"] }) {
  return (
    <Lines title={t.review.triggers} none={t.review.noTriggerItRunsOnly}>
      {wakes.map((one) => (
        <Line key={one.type + one.when} icon={Zap} why={t.review.by2(one.by)}>
          {one.when}
          {one.enabled ? "" : t.review.off}
        </Line>
      ))}
    </Lines>
  );
}

export function Impact({ impact }: { impact?: ImpactOf | null }) {
  if (!impact?.outside) return <Text size="sm" c="dimmed">{t.review.unknown2}</Text>;
  return (
    <Stack gap="md">
      <Starts wakes={impact.wakes} />
      <Lines title={t.review.externalSystems} none={t.review.noneNothingIsSentOutside}>
        {impact.outside.map(outside)}
      </Lines>
      <Lines title={t.review.needsApproval}>
        {impact.people.map((one) => (
          <Line key={one.capability} icon={Hand} why={inSteps(one.why)}>
            {escapeInvisible(one.label)}
          </Line>
        ))}
      </Lines>
      <Lines title={t.review.storedData}>
        {impact.keeps.map((one) => (
          <Line key={one.kind + one.what} icon={Archive} why={inSteps(one.why)}>
            {capitalize(humanize(one.kind))} {one.what}
          </Line>
        ))}
      </Lines>
      <Lines title={t.review.secrets}>{impact.secrets.map(secret)}</Lines>
    </Stack>
  );
}
