// The details of a connection, as pairs.

import { Grid, Text } from "@mantine/core";
import { Fragment, type ReactNode } from "react";
import { Timestamp } from "../../kit/Timestamp";
import { Part } from "./Part";
import { abilities, describeHealth, type Integration } from "./states";
import { t } from "../../strings";

export function Facts({ one }: { one: Integration }) {
  const health = one.connection;
  const pairs: [string, ReactNode][] = [[t.integrations.functions, abilities(one)], [
    t.integrations.quality,
    t.integrations.tier(one.tier),
  ]];
  if (one.account) pairs.push([t.integrations.account, one.account]);
  if (health) {
    pairs.push([
      t.integrations.belongsTo,
      health.owner === "workspace" ? t.integrations.theWorkspaceEveryMembers : "you",
    ]);
    pairs.push([t.integrations.status, describeHealth(one)]);
    pairs.push([t.integrations.lastSuccess, <Timestamp key="ok" at={health.last_ok_at} />]);
    if (health.last_failed_at) {
      pairs.push([t.integrations.lastFailure, <Timestamp key="bad" at={health.last_failed_at} />]);
    }
    if (health.scopes.length) pairs.push([t.integrations.consent, health.scopes.join(", ")]);
    const settings = health.settings as Record<string, unknown>;
    for (const { name, label } of one.fields) {
      if (settings[name] !== undefined) pairs.push([label, String(settings[name])]);
    }
  }
  return (
    <Part title={health ? t.integrations.connection : t.integrations.whatItDoes}>
      <Grid gap="xs" component="dl" m={0}>
        {pairs.map(([name, held]) => (
          <Fragment key={name}>
            <Grid.Col span={{ base: 5, sm: 3 }} component="dt">
              <Text size="sm" c="dimmed">{name}</Text>
            </Grid.Col>
            <Grid.Col span={{ base: 7, sm: 9 }} component="dd" m={0}>
              <Text size="sm" component="div" className="wrap-anywhere">{held}</Text>
            </Grid.Col>
          </Fragment>
        ))}
      </Grid>
    </Part>
  );
}
