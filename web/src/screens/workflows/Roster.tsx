// The members of a workflow and their roles: owners, contributors and observers.

import { ActionIcon, Group, Select, Stack, Text } from "@mantine/core";
import { X } from "lucide-react";
import { api } from "../../api/client";
import { useAction } from "../../kit/useAction";
import { capitalize } from "../../kit/format";
import { changeWorkflow } from "./mutations";
import type { Member, RosterRole, WorkflowDetail } from "./progress";
import { Panel } from "./Panel";
import { t } from "../../strings";

const ROLES = ["owner", "contributor", "observer"] as const;
const CHOICES = ROLES.map((value) => ({ value, label: capitalize(value) }));
const called = (one: Member | undefined) => one ? one.name || one.email : t.workflows.formerMember;

export function Roster({ held, may }: { held: WorkflowDetail; may: boolean }) {
  const members = api.useQuery("get", "/api/v1/members").data?.members ?? [];
  const { busy, act } = useAction();
  const save = (roster: WorkflowDetail["roster"]) =>
    void act(() => changeWorkflow(held, { roster }));
  const on = new Set(held.roster.map((one) => one.user_id));
  const others = members.filter((one) => !on.has(one.id));
  return (
    <Panel title={t.workflows.people}>
      <Stack gap="sm">
        {held.roster.map(({ user_id, role }) => (
          <Row
            key={user_id}
            name={called(members.find((one) => one.id === user_id))}
            role={role}
            busy={busy}
            set={may
              ? (next) =>
                save(
                  held.roster.map((one) => one.user_id === user_id ? { user_id, role: next } : one),
                )
              : null}
            remove={may && held.roster.length > 1
              ? () => save(held.roster.filter((one) => one.user_id !== user_id))
              : null}
          />
        ))}
        {may && others.length
          ? (
            <Select
              size="xs"
              aria-label={t.workflows.addAMember}
              placeholder={t.workflows.addAMember}
              searchable
              disabled={busy}
              value={null}
              data={others.map((one) => ({ value: one.id, label: called(one) }))}
              onChange={(id) => id && save([...held.roster, { user_id: id, role: "contributor" }])}
            />
          )
          : null}
        <Text size="xs" c="dimmed">{t.workflows.observersCannotChangeTheProject}</Text>
      </Stack>
    </Panel>
  );
}

type RowProps = {
  name: string;
  role: RosterRole;
  busy: boolean;
  set: ((role: RosterRole) => void) | null;
  remove: (() => void) | null;
};

function Row({ name, role, busy, set, remove }: RowProps) {
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm" fw={600} className="wrap-anywhere">{name}</Text>
      {set
        ? (
          <Group gap={4} wrap="nowrap">
            <Select
              size="xs"
              w={130}
              aria-label={t.workflows.roleOf(name)}
              data={CHOICES}
              value={role}
              disabled={busy}
              allowDeselect={false}
              onChange={(next) => next && set(next as RosterRole)}
            />
            {remove
              ? (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={t.workflows.remove2(name)}
                  onClick={remove}
                  disabled={busy}
                >
                  <X size={15} />
                </ActionIcon>
              )
              : null}
          </Group>
        )
        : <Text size="sm" c="dimmed">{capitalize(role)}</Text>}
    </Group>
  );
}
