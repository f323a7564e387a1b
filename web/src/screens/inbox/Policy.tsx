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
import { formatCount, formatDuration } from "../../kit/format";

type StoredPolicy = Answer<"get_approval_policy">;
const ROLES = ["operator", "editor", "admin", "owner"] as const;
const MINUTE = 60;
const HOUR = 3600;
const MOST_SECONDS = 2592000;
const MOST_MINUTES = MOST_SECONDS / MINUTE;

export function describePolicy(policy: StoredPolicy): string {
  const whom = policy.roles.length ? policy.roles.join(" or ") : "operator or more";
  const who = policy.approvers === 1
    ? `one person who is ${whom}`
    : `${formatCount(policy.approvers, "person", "people")} who are ${whom}`;
  const author = policy.author_may_approve
    ? "Whoever wrote it may be one of them."
    : "Whoever wrote it may not.";
  const time = policy.draft_seconds
    ? `It waits for ${formatDuration(policy.draft_seconds)}.`
    : "It waits as long as the installation says.";
  const held = policy.held_seconds
    ? `A write of a run waits for ${formatDuration(policy.held_seconds)}.`
    : "A write of a run waits for 72 hours, unless its step or the installation says otherwise.";
  return `A draft leaves when ${who} agreed to the same words. ${author} ${time} ${held}`;
}

export function Policy() {
  const query = api.useQuery("get", "/api/v1/approval-policy");
  const may = useHasRole("owner");
  const [changing, setChanging] = useState(false);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">Who may approve</Title>
        <CopyAs
          operations={[{
            label: "Read the policy",
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
                      Change it
                    </Button>
                  </Group>
                )
                : null}
              {changing ? <PolicyForm policy={policy} onDone={() => setChanging(false)} /> : null}
              {may ? null : <Text size="xs" c="dimmed">An owner can change it.</Text>}
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
      notifyDone("Kept. It holds for every draft that waits.");
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
          label="How many must agree"
          min={1}
          max={5}
          value={draftPolicy.approvers}
          onChange={(value) => put({ approvers: Number(value) || 1 })}
        />
        <Checkbox.Group
          label="Whose agreement counts"
          description="None chosen: everybody who may answer the inbox."
          value={draftPolicy.roles}
          onChange={(roles) => put({ roles: roles as StoredPolicy["roles"] })}
        >
          <Group mt="xs">
            {ROLES.map((role) => <Checkbox key={role} value={role} label={role} />)}
          </Group>
        </Checkbox.Group>
        <Switch
          label="Whoever wrote it may agree"
          checked={draftPolicy.author_may_approve}
          onChange={(event) => put({ author_may_approve: event.currentTarget.checked })}
        />
        <NumberInput
          label="Minutes that a draft waits"
          description="Empty: as the installation says."
          min={1}
          max={MOST_MINUTES}
          value={draftPolicy.draft_seconds ? draftPolicy.draft_seconds / MINUTE : ""}
          onChange={(value) =>
            put({
              draft_seconds: value === "" ? null : Math.round(Number(value) * MINUTE),
            })}
        />
        <NumberInput
          label="Hours that a write of a run waits"
          description="Empty: as the installation says, which is 72 hours unless it was changed."
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
          <Button type="submit" loading={busy}>Keep it</Button>
          <Button variant="default" onClick={onDone}>Leave it as it is</Button>
        </Group>
      </Stack>
    </form>
  );
}
