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
import { t } from "../../strings";

type Rule = Answer<"list_standing_rules">["rules"][number];
const SHOWN = ["proposed", "active"] as const;

export function Rules() {
  const query = api.useQuery("get", "/api/v1/standing-rules", {
    params: { query: { limit: 100 } },
  });
  return (
    <Stack gap="xl">
      <Stack gap="sm">
        <Title order={2} size="h4">{t.inbox.standingRules}</Title>
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
                <Empty icon={Repeat} title={t.inbox.noStandingRules}>
                  {t.inbox.afterFiveDraftsOfThe}
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
    ? t.inbox.draftsOfThisShapeWere(rule.seen)
    : t.inbox.allowedEditingOrDiscardingA(
      rule.decided_at ? formatRelative(rule.decided_at) : t.inbox.earlier,
    );

function facts(rule: Rule) {
  const { goes, always } = describePattern(rule.pattern as Record<string, unknown>);
  const text = (message: string) => <Text size="sm" className="wrap-anywhere">{message}</Text>;
  return [
    { name: t.inbox.onlyTo, value: text(goes) },
    ...(always.length ? [{ name: t.inbox.alwaysWith, value: text(always.join("\n")) }] : []),
    { name: t.inbox.canVary, value: text(t.inbox.onlyTheText) },
    ...(rule.status === "active"
      ? [{ name: t.inbox.sentSoFar, value: text(String(rule.uses ?? 0)) }]
      : []),
  ];
}

function Name({ rule }: { rule: Rule }) {
  return (
    <Title order={3} size="sm" className="wrap-anywhere">
      {t.inbox.of(
        <span className="mono">{rule.capability}</span>,
        <Anchor component={Link} to={`/automations/${rule.automation_id}`} fw={650} size="sm">
          {escapeInvisible(rule.automation ?? t.inbox.anAutomation2)}
        </Anchor>,
      )}
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
            label={rule.status === "active" ? t.inbox.active : undefined}
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
    }, t.inbox.withdrawnEveryDraftNeedsApproval);
  if (rule.status === "active") {
    return mayWithdraw
      ? (
        <Group>
          <Button variant="default" loading={busy} onClick={() => void withdraw()}>
            {t.inbox.withdraw}
          </Button>
        </Group>
      )
      : null;
  }
  if (!mayDecide) {
    return <Text size="sm" c="dimmed">{t.inbox.yourRoleCanOnlyViewAllowing(who.role)}</Text>;
  }
  return (
    <Group gap="xs">
      <Button
        loading={busy}
        onClick={() => void decide("accept", t.inbox.suchDraftsAreSentAutomatically)}
      >
        {t.inbox.sendTheseAutomatically}
      </Button>
      <Button
        variant="default"
        disabled={busy}
        onClick={() => void decide("decline", t.inbox.eachOneStillNeedsApproval)}
      >
        {t.inbox.keepAsking}
      </Button>
    </Group>
  );
}

function EndedRules({ rules }: { rules: Rule[] }) {
  return (
    <details>
      <summary>
        <Text span size="sm" c="dimmed">{t.inbox.endedRules(rules.length)}</Text>
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
