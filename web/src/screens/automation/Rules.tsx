// Auto-approval rules: drafts that people approved often enough to be sent without asking.

import { Button, Card, Code, Group, List, Stack, Text } from "@mantine/core";
import { type Answer, api, client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { QueryResult } from "../../kit/QueryResult";
import { Status } from "../../kit/Status";
import { escapeInvisible, formatRelative, humanize } from "../../kit/format";
import { t } from "../../strings";

type Rule = Answer<"list_standing_rules">["rules"][number];

const spelt = (value: unknown) =>
  Array.isArray(value) && value.every((one) => typeof one !== "object")
    ? value.map(String).join(", ")
    : typeof value === "object"
    ? JSON.stringify(value)
    : String(value);

const isEmpty = (value: unknown) =>
  value === null || value === undefined || value === "" ||
  (Array.isArray(value) && !value.length);

function describeRule(rule: Rule): string {
  if (rule.status === "proposed") {
    return t.automation.approvedTimesUnchangedSend(rule.seen ?? 0);
  }
  const when = rule.decided_at ? ` ${formatRelative(rule.decided_at)}` : "";
  return t.automation.allowedSentSoFarEditing(when, rule.uses ?? 0);
}

function One({ rule }: { rule: Rule }) {
  const { busy, act } = useAction();
  const [edit, operate] = [useHasRole("editor"), useHasRole("operator")];
  const params = { path: { rule_id: rule.rule_id } };
  const decide = (decision: "accept" | "decline", text: string) =>
    act(async () => {
      await client.POST("/api/v1/standing-rules/{rule_id}/decide", {
        params,
        body: { decision },
      });
      await refresh("/api/v1/standing-rules");
    }, text);
  const withdraw = () =>
    act(async () => {
      await client.POST("/api/v1/standing-rules/{rule_id}/withdraw", { params });
      await refresh("/api/v1/standing-rules");
    }, t.automation.withdrawnEveryDraftNeedsApproval);
  const held = Object.entries(rule.pattern as Record<string, unknown>).filter(([, value]) =>
    !isEmpty(value)
  );
  return (
    <Card withBorder radius="md" p="md">
      <Group justify="space-between">
        <Code>{rule.capability}</Code>
        <Status value={rule.status} />
      </Group>
      <Text size="sm" c="dimmed" mt={4}>{describeRule(rule)}</Text>
      <List size="sm" my="xs">
        {held.map(([name, value]) => (
          <List.Item key={name}>{humanize(name)}: {escapeInvisible(spelt(value))}</List.Item>
        ))}
        <List.Item>{t.automation.canVaryOnlyTheText}</List.Item>
      </List>
      <Group gap="xs">
        {rule.status === "proposed" && edit
          ? (
            <>
              <Button
                size="compact-sm"
                loading={busy}
                onClick={() =>
                  void decide(
                    "accept",
                    t.automation.suchDraftsAreSentAutomatically,
                  )}
              >
                {t.automation.sendTheseAutomatically}
              </Button>
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => void decide("decline", t.automation.eachOneStillNeedsApproval)}
              >
                {t.automation.keepAsking}
              </Button>
            </>
          )
          : null}
        {rule.status === "active" && operate
          ? (
            <Button
              size="compact-sm"
              variant="default"
              loading={busy}
              onClick={() => void withdraw()}
            >
              {t.automation.withdraw}
            </Button>
          )
          : null}
      </Group>
    </Card>
  );
}

export function Rules({ id }: { id: string }) {
  const query = api.useQuery("get", "/api/v1/standing-rules", {
    params: { query: { automation_id: id } },
  });
  return (
    <QueryResult of={query} lines={2}>
      {({ rules }) => {
        const shown = rules.filter((one) => one.status === "proposed" || one.status === "active");
        if (!shown.length) {
          return <Text size="sm" c="dimmed">{t.automation.noneAfterSeveralUnchangedApprovals}
          </Text>;
        }
        return (
          <Stack gap="sm">
            {shown.map((one) => <One key={one.rule_id} rule={one} />)}
          </Stack>
        );
      }}
    </QueryResult>
  );
}
