// The approval policy: visible to everybody, changed by an owner.

import {
  Button,
  Card,
  Checkbox,
  Group,
  NumberInput,
  Stack,
  Switch,
  Text,
  Title,
} from "@mantine/core";
import { useState } from "react";
import { type Answer, api, client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { ProblemNote, QueryResult } from "../../kit/QueryResult";
import { notifyDone } from "../../kit/useAction";
import { CopyAs } from "../../kit/Copy";
import { formatDuration } from "../../kit/format";
import { t } from "../../strings";

type StoredPolicy = Answer<"get_approval_policy">;
const ROLES = ["operator", "editor", "admin", "owner"] as const;
const MINUTE = 60;
const HOUR = 3600;
const MOST_SECONDS = 2592000;
const MOST_MINUTES = MOST_SECONDS / MINUTE;

export function describePolicy(policy: StoredPolicy): string {
  const whom = policy.roles.length ? policy.roles.join(" or ") : t.inbox.operatorOrHigher;
  const who = policy.approvers === 1
    ? t.inbox.onePersonWithTheRole(whom)
    : t.inbox.personWithTheRole(policy.approvers, whom);
  const author = policy.author_may_approve
    ? t.inbox.theAuthorCanBeOne
    : t.inbox.theAuthorCannotApprove;
  const time = policy.draft_seconds
    ? t.inbox.itExpiresAfter(formatDuration(policy.draft_seconds))
    : t.inbox.itExpiresAsConfiguredFor;
  const held = policy.held_seconds
    ? t.inbox.aWriteThatARun(formatDuration(policy.held_seconds))
    : t.inbox.aWriteThatARunWaits;
  return t.inbox.aDraftIsSentWhen(who, author, time, held);
}

export function Policy() {
  const query = api.useQuery("get", "/api/v1/approval-policy");
  const may = useHasRole("owner");
  const [changing, setChanging] = useState(false);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">{t.inbox.approvalPolicy}</Title>
        <CopyAs
          operations={[{
            label: t.inbox.readThePolicy,
            operation: {
              method: "GET",
              path: "/api/v1/approval-policy",
              tool: "get_approval_policy",
            },
          }]}
        />
      </Group>
      <QueryResult of={query} lines={2}>
        {(policy) => (
          <Card withBorder radius="lg" p="lg">
            <Stack gap="md">
              <Text size="sm">{describePolicy(policy)}</Text>
              {may && !changing
                ? (
                  <Group>
                    <Button variant="default" onClick={() => setChanging(true)}>
                      {t.inbox.change}
                    </Button>
                  </Group>
                )
                : null}
              {changing ? <PolicyForm policy={policy} onDone={() => setChanging(false)} /> : null}
              {may ? null : <Text size="xs" c="dimmed">{t.inbox.anOwnerCanChangeIt}</Text>}
            </Stack>
          </Card>
        )}
      </QueryResult>
    </Stack>
  );
}

function PolicyForm({ policy, onDone }: { policy: StoredPolicy; onDone: () => void }) {
  const [draftPolicy, setDraftPolicy] = useState(policy);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const put = (more: Partial<StoredPolicy>) => setDraftPolicy((before) => ({ ...before, ...more }));
  const keep = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await client.PUT("/api/v1/approval-policy", { body: draftPolicy });
      await refresh("/api/v1/approval-policy");
      notifyDone(t.inbox.savedItAppliesToEvery);
      onDone();
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void keep();
      }}
    >
      <Stack gap="md" maw={460}>
        <NumberInput
          label={t.inbox.approvalsRequired}
          min={1}
          max={5}
          value={draftPolicy.approvers}
          onChange={(value) => put({ approvers: Number(value) || 1 })}
        />
        <Checkbox.Group
          label={t.inbox.whoCanApprove}
          description={t.inbox.noneSelectedEveryoneWhoCan}
          value={draftPolicy.roles}
          onChange={(roles) => put({ roles: roles as StoredPolicy["roles"] })}
        >
          <Group mt="xs">
            {ROLES.map((role) => <Checkbox key={role} value={role} label={role} />)}
          </Group>
        </Checkbox.Group>
        <Switch
          label={t.inbox.theAuthorCanApprove}
          checked={draftPolicy.author_may_approve}
          onChange={(event) => put({ author_may_approve: event.currentTarget.checked })}
        />
        <NumberInput
          label={t.inbox.minutesUntilADraftExpires}
          description={t.inbox.emptyTheDefaultOfThe}
          min={1}
          max={MOST_MINUTES}
          value={draftPolicy.draft_seconds ? draftPolicy.draft_seconds / MINUTE : ""}
          onChange={(value) =>
            put({
              draft_seconds: value === "" ? null : Math.round(Number(value) * MINUTE),
            })}
        />
        <NumberInput
          label={t.inbox.hoursUntilAWriteOf}
          description={t.inbox.emptyTheDefaultOfTheInstallation}
          min={1}
          max={MOST_SECONDS / HOUR}
          value={draftPolicy.held_seconds ? draftPolicy.held_seconds / HOUR : ""}
          onChange={(value) =>
            put({
              held_seconds: value === "" ? null : Math.round(Number(value) * HOUR),
            })}
        />
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group gap="xs">
          <Button type="submit" loading={busy}>{t.inbox.keepDraft}</Button>
          <Button variant="default" onClick={onDone}>{t.inbox.cancel}</Button>
        </Group>
      </Stack>
    </form>
  );
}
