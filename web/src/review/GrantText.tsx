// The description of one grant. Every screen uses it, so that the same grant reads the same everywhere.

import { Text } from "@mantine/core";
import { escapeInvisible } from "../kit/format";
import { describeEffect, describeLimits } from "./reviewText";

type Described = {
  capability: string;
  params: object;
  label?: string;
  effect?: string;
  waits_for_person?: boolean;
};

/** What it allows, with its limits. */
export function GrantTitle({ grant, label }: { grant: Described; label?: string }) {
  const limits = describeLimits(grant.params);
  return (
    <>
      {escapeInvisible(grant.label ?? label ?? grant.capability)}
      {limits ? <Text span inherit c="dimmed">{` ${limits}`}</Text> : null}
    </>
  );
}

/** What it does outside and in this workspace, and the name of its capability. */
export function GrantReach({ grant }: { grant: Described }) {
  const effect = describeEffect(grant);
  return (
    <>
      {effect ? `${effect} · ` : ""}
      <span className="mono">{grant.capability}</span>
    </>
  );
}
