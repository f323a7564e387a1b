// The difference between two versions: grants added or removed, and the changed lines.

import { Alert, Badge, Code, Group, List, SegmentedControl, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Diff } from "../../code";
import { QueryResult } from "../../kit/QueryResult";
import { escapeInvisible } from "../../kit/format";
import { Grant } from "./Permissions";
import { t } from "../../strings";

type Change = Schemas["ChangeShape"];
const WORDS: Record<Change["op"], string> = {
  add: t.automation.new,
  remove: t.automation.removed,
  replace: t.automation.changed,
  move: t.automation.moved,
};
const COLORS: Record<Change["op"], string> = {
  add: "teal",
  remove: "red",
  replace: "yellow",
  move: "gray",
};
const SHORT = 160;
const MOST = 40;

const spelt = (value: unknown) => {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "nothing";
  return escapeInvisible(text.length > SHORT ? `${text.slice(0, SHORT)} …` : text);
};

function Line({ change }: { change: Change }) {
  return (
    <List.Item>
      <Group gap={6} component="span">
        <Badge size="sm" variant="light" color={COLORS[change.op]} tt="none" radius="sm">
          {WORDS[change.op]}
        </Badge>
        <Code>{change.pointer || "/"}</Code>
        {change.op === "move"
          ? <Text span size="sm">{t.automation.from(<Code>{change.from}</Code>)}</Text>
          : null}
      </Group>
      {change.op === "remove" || change.op === "replace"
        ? (
          <Text size="xs" c="var(--bad)" className="wrap-anywhere">
            − {spelt(change.before)}
          </Text>
        )
        : null}
      {change.op === "add" || change.op === "replace"
        ? (
          <Text size="xs" c="var(--good)" className="wrap-anywhere">
            + {spelt(change.after)}
          </Text>
        )
        : null}
    </List.Item>
  );
}

function Grants(
  { title, grants, color }: { title: string; grants: Schemas["GrantShape"][]; color: string },
) {
  if (!grants.length) return null;
  return (
    <Alert color={color} variant="light" title={title}>
      <List size="sm">
        {grants.map((one, at) => (
          <List.Item key={at}>
            <Grant grant={one} />
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

function Lines({ id, from, to }: Props) {
  const one = (version: number) => ({ params: { path: { automation_id: id, version } } }) as const;
  const path = "/api/v1/automations/{automation_id}/versions/{version}" as const;
  const before = api.useQuery("get", path, one(from), { staleTime: Infinity });
  const after = api.useQuery("get", path, one(to), { staleTime: Infinity });
  return (
    <QueryResult of={before}>
      {(old) => (
        <QueryResult of={after}>
          {(now) => (
            <Diff
              before={JSON.stringify(old.definition, null, 2)}
              after={JSON.stringify(now.definition, null, 2)}
              label={t.automation.changesFromVersionToVersion(from, to)}
            />
          )}
        </QueryResult>
      )}
    </QueryResult>
  );
}

type Props = { id: string; from: number; to: number };

export function Comparison({ id, from, to }: Props) {
  const [shown, setShown] = useState("changes");
  const query = api.useQuery("get", "/api/v1/automations/{automation_id}/diff", {
    params: { path: { automation_id: id }, query: { from, to } },
  });
  return (
    <QueryResult of={query}>
      {({ changes, widened, narrowed }) => (
        <Stack gap="sm">
          <Grants title={t.automation.newPermissions} grants={widened} color="yellow" />
          <Grants title={t.automation.removedPermissions} grants={narrowed} color="teal" />
          <Group justify="space-between">
            <Text size="sm" c="dimmed">
              {changes.length ? t.counts.differences(changes.length) : t.automation.noDifferences}
            </Text>
            <SegmentedControl
              size="xs"
              value={shown}
              onChange={setShown}
              data={[{ value: "changes", label: t.automation.changes }, {
                value: "lines",
                label: t.automation.lines,
              }]}
              aria-label={t.automation.differenceView}
            />
          </Group>
          {shown === "lines"
            ? <Lines id={id} from={from} to={to} />
            : (
              <List size="sm" spacing="xs" listStyleType="none">
                {changes.slice(0, MOST).map((one) => (
                  <Line key={one.op + one.pointer} change={one} />
                ))}
              </List>
            )}
          {shown === "changes" && changes.length > MOST
            ? (
              <Text size="sm" c="dimmed">
                {t.automation.andMoreTheLinesShow(changes.length - MOST)}
              </Text>
            )
            : null}
        </Stack>
      )}
    </QueryResult>
  );
}
