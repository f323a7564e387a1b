// The impact: what starts it, which external systems it reads or writes, what it stores, where
// secrets are sent, and what needs approval.

import { Stack, Text } from "@mantine/core";
import { Archive, Globe, Hand, KeyRound, Send, Zap } from "lucide-react";
import { capitalize, escapeInvisible, humanize } from "../kit/format";
import { Line, Lines } from "./Lines";
import type { ImpactOf } from "./reviewText";

const listed = (names: string[]) => names.join(", ");
const inSteps = (steps: string[]) => steps.length ? `in ${listed(steps)}` : null;

function outside(one: ImpactOf["outside"][number]) {
  const sends = one.effect === "send";
  return (
    <Line
      key={one.system + one.effect + listed(one.hosts)}
      icon={sends ? Send : Globe}
      strong={sends}
      why={`${sends ? "is sent to" : "is asked"}${one.why.length ? ` by ${listed(one.why)}` : ""}`}
    >
      <b>{one.system}</b>
      {one.hosts.length ? ` at ${listed(one.hosts)}` : ""}
    </Line>
  );
}

function secret(one: ImpactOf["secrets"][number]) {
  return (
    <Line
      key={one.name}
      icon={KeyRound}
      why={one.capabilities.length ? `with ${listed(one.capabilities)}` : null}
    >
      <span className="mono">{escapeInvisible(one.name)}</span>
      {one.hosts.length ? ` goes to ${listed(one.hosts)}` : ""}
    </Line>
  );
}

export function Starts({ wakes }: { wakes: ImpactOf["wakes"] }) {
  return (
    <Lines title="What starts it" none="Nothing: a person runs it manually.">
      {wakes.map((one) => (
        <Line key={one.type + one.when} icon={Zap} why={`by ${one.by}`}>
          {one.when}
          {one.enabled ? "" : " Switched off."}
        </Line>
      ))}
    </Lines>
  );
}

export function Impact({ impact }: { impact?: ImpactOf | null }) {
  if (!impact?.outside) return <Text size="sm" c="dimmed">Not known yet.</Text>;
  return (
    <Stack gap="md">
      <Starts wakes={impact.wakes} />
      <Lines title="Systems outside" none="None: nothing is sent outside.">
        {impact.outside.map(outside)}
      </Lines>
      <Lines title="Waits for a person">
        {impact.people.map((one) => (
          <Line key={one.capability} icon={Hand} why={inSteps(one.why)}>
            {escapeInvisible(one.label)}
          </Line>
        ))}
      </Lines>
      <Lines title="It keeps">
        {impact.keeps.map((one) => (
          <Line key={one.kind + one.what} icon={Archive} why={inSteps(one.why)}>
            {capitalize(humanize(one.kind))} {one.what}
          </Line>
        ))}
      </Lines>
      <Lines title="Secrets it uses">{impact.secrets.map(secret)}</Lines>
    </Stack>
  );
}
