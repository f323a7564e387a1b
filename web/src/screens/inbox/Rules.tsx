// Auto-approval rules, earned by repeated approvals, and the approval policy.

import { Anchor, Button, Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Repeat } from "lucide-react";
import { type Answer, api, client } from "../../api/client";
import { useHasRole, useSession } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { Empty } from "../../kit/Empty";
import { Status } from "../../kit/Status";
import { escapeInvisible, formatRelative } from "../../kit/format";
import { Lines } from "../../previews/Value";
import { look } from "./answers";
import { Policy } from "./Policy";
import { describePattern } from "./ruleText";

type Rule = Answer<"list_standing_rules">["rules"][number];
const SHOWN = ["proposed", "active"] as const;

export function Rules() {
  const query = api.useQuery("get", "/api/v1/standing-rules", {
    params: { query: { limit: 100 } },
  });
  return (
    <Stack gap="xl">
      <Stack gap="sm">
        <Title order={2} size="h4">What may go by itself</Title>
        <QueryResult of={query}>
          {({ rules }) => {
            const standing = SHOWN.flatMap((status) =>
              rules.filter((one) => one.status === status)
            );
            const ended = rules.filter((one) => !standing.includes(one));
            return standing.length || ended.length
              ? (
                <>
                  {standing.map((one) => (
                    <RuleCard
                      key={one.rule_id}
                      rule={one}
                    />
                  ))}
                  {ended.length ? <EndedRules rules={ended} /> : null}
                </>
              )
              : (
                <Empty icon={Repeat} title="Nothing goes by itself">
                  When five drafts of the same shape were approved one after another, unchanged, you
                  are asked here whether such drafts may leave without asking. You can withdraw that
                  at any time.
                </Empty>
              );
          }}
        </QueryResult>
      </Stack>
      <Policy />
    </Stack>
  );
}

const story = (rule: Rule) =>
  rule.status === "proposed"
    ? `${rule.seen} drafts of this shape were approved one after another, and none was changed.`
    : `Somebody let these go ${
      rule.decided_at ? formatRelative(rule.decided_at) : "before"
    }. An edit or a discard of one like it ends this, and so does another version.`;

function facts(rule: Rule) {
  const { goes, always } = describePattern(rule.pattern as Record<string, unknown>);
  const text = (message: string) => <Text size="sm" className="wrap-anywhere">{message}</Text>;
  return [
    { name: "only to", value: text(goes) },
    ...(always.length ? [{ name: "always with", value: text(always.join("\n")) }] : []),
    { name: "may differ", value: text("the wording, and nothing else") },
    ...(rule.status === "active"
      ? [{ name: "let go so far", value: text(String(rule.uses ?? 0)) }]
      : []),
  ];
}

function Name({ rule }: { rule: Rule }) {
  return (
    <Title order={3} size="sm" className="wrap-anywhere">
      <span className="mono">{rule.capability}</span> of{" "}
      <Anchor component={Link} to={`/automations/${rule.automation_id}`} fw={650} size="sm">
        {escapeInvisible(rule.automation ?? "an automation")}
      </Anchor>
    </Title>
  );
}

function RuleCard({ rule }: { rule: Rule }) {
  return (
    <Card withBorder radius="lg" p="lg">
      <Stack gap="sm">
        <Group justify="space-between">
          <Name rule={rule} />
          <Status
            value={rule.status}
            label={rule.status === "active" ? "in force" : undefined}
          />
        </Group>
        <Text size="sm" c="dimmed">{story(rule)}</Text>
        <Lines lines={facts(rule)} />
        <RuleActions rule={rule} />
      </Stack>
    </Card>
  );
}

function RuleActions({ rule }: { rule: Rule }) {
  const who = useSession();
  const mayDecide = useHasRole("editor");
  const mayWithdraw = useHasRole("operator");
  const { busy, act } = useAction();
  const params = { path: { rule_id: rule.rule_id } };
  const decide = (decision: "accept" | "decline", done: string) =>
    act(async () => {
      await client.POST("/api/v1/standing-rules/{rule_id}/decide", {
        params,
        body: { decision },
      });
      await look();
    }, done);
  const withdraw = () =>
    act(async () => {
      await client.POST("/api/v1/standing-rules/{rule_id}/withdraw", {
        params,
        body: {} as never,
      });
      await look();
    }, "Withdrawn. Every draft waits for a person again.");
  if (rule.status === "active") {
    return mayWithdraw
      ? (
        <Group>
          <Button variant="default" loading={busy} onClick={() => void withdraw()}>
            Withdraw
          </Button>
        </Group>
      )
      : null;
  }
  if (!mayDecide) {
    return (
      <Text size="sm" c="dimmed">
        Your role here ({who.role}) may look; letting something go takes editor or more.
      </Text>
    );
  }
  return (
    <Group gap="xs">
      <Button
        loading={busy}
        onClick={() => void decide("accept", "Such drafts leave by themselves from now on.")}
      >
        Let these go by themselves
      </Button>
      <Button
        variant="default"
        disabled={busy}
        onClick={() => void decide("decline", "Each one keeps waiting for a yes.")}
      >
        Keep asking me
      </Button>
    </Group>
  );
}

function EndedRules({ rules }: { rules: Rule[] }) {
  return (
    <details>
      <summary>
        <Text span size="sm" c="dimmed">Rules that ended ({rules.length})</Text>
      </summary>
      <Stack gap="xs" mt="sm">
        {rules.map((rule) => (
          <Group key={rule.rule_id} gap="xs">
            <Name rule={rule} />
            <Status value={rule.status} />
            <Text size="sm" c="dimmed">
              {rule.ended_reason ? escapeInvisible(rule.ended_reason) : ""}
            </Text>
          </Group>
        ))}
      </Stack>
    </details>
  );
}
