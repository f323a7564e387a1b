// The members and their roles; an invitation creates a link that is shown once.

import { Avatar, Badge, Button, Group, Stack, Text } from "@mantine/core";
import { api, client, refresh, type Schemas } from "../../api/client";
import { type Role, useHasRole, useSession } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { capitalize, formatCount, formatDate } from "../../kit/format";
import { Invite } from "./Invite";
import { mayChange, ROLE_DESCRIPTIONS, rolesToGive } from "./roles";
import { RoleSelect } from "./RoleSelect";
import { Row, Rows } from "./Rows";
import { Section, Sections } from "./Section";
import { Takeover } from "./Takeover";

type Member = Schemas["MemberShape"];
type Invitation = Schemas["InvitationShape"];
type Leaver = Schemas["LeaverShape"];

export function Members() {
  const members = api.useQuery("get", "/api/v1/members");
  const mayInvite = useHasRole("admin");
  return (
    <Sections>
      {mayInvite ? <Invite /> : null}
      <Section
        title="Members"
        description={mayInvite
          ? "What somebody may do here is their role."
          : "Whoever is an admin here can invite others and change roles."}
      >
        <QueryResult of={members}>
          {(found) => (
            <Rows label="Members">
              {found.members.map((one) => <MemberRow key={one.id} member={one} />)}
            </Rows>
          )}
        </QueryResult>
      </Section>
      {members.data?.invitations.length
        ? (
          <Section title="Open invitations" description="Their links work once, within 7 days.">
            <Rows label="Open invitations">
              {members.data.invitations.map((one) => (
                <InvitationRow
                  key={one.id}
                  invitation={one}
                  members={members.data.members}
                />
              ))}
            </Rows>
          </Section>
        )
        : null}
      {members.data?.left.length
        ? (
          <Section
            title="Left behind"
            description="Automations and webhooks of people who left. They start nothing until somebody takes them over; what should have started is recorded."
          >
            <Rows label="Left behind">
              {members.data.left.map((one) => <LeaverRow key={one.id} leaver={one} />)}
            </Rows>
          </Section>
        )
        : null}
      <Section title="Roles" description="Each may do everything that the ones before it may.">
        <Stack gap="xs">
          {(Object.entries(ROLE_DESCRIPTIONS) as [Role, string][]).map(([role, text]) => (
            <Group key={role} gap="sm" wrap="nowrap" align="flex-start">
              <Text fw={600} size="sm" w={80} flex="none">{capitalize(role)}</Text>
              <Text size="sm" c="dimmed">{text}</Text>
            </Group>
          ))}
        </Stack>
      </Section>
    </Sections>
  );
}

const named = (member: Member) => member.name || member.email;

function MemberRow({ member }: { member: Member }) {
  const who = useSession();
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const params = { path: { member_id: member.id } };
  const changed = () => refresh("/api/v1/members", "/api/v1/session");
  const change = (role: Role) =>
    act(async () => {
      await client.PATCH("/api/v1/members/{member_id}", { params, body: { role } });
      await changed();
    }, `${named(member)} is ${role} now.`);
  const remove = async () => {
    const yes = await confirm({
      title: `Remove ${named(member)}?`,
      message:
        "They are refused from the next request on. Their automations and webhooks stop until somebody takes them over.",
      yes: "Remove",
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.DELETE("/api/v1/members/{member_id}", { params });
      await changed();
    }, `${named(member)} is no member any more.`);
  };
  return (
    <Row
      title={
        <Group gap="xs">
          <Avatar size={26} radius="xl" color="spring" name={named(member)} aria-hidden />
          {named(member)}
          {member.id === who.user.id ? <Badge variant="light" tt="none">you</Badge> : null}
          {member.disabled ? <Badge color="red" variant="light" tt="none">shut out</Badge> : null}
        </Group>
      }
      description={`${member.email} · since ${formatDate(member.joined_at)}`}
    >
      {mayChange(who, member)
        ? (
          <>
            <RoleSelect
              w={130}
              size="xs"
              aria-label={`Role of ${named(member)}`}
              roles={rolesToGive(who.role)}
              value={member.role}
              disabled={busy}
              onChange={(role) => void change(role)}
            />
            <Button
              size="compact-sm"
              variant="subtle"
              color="red"
              aria-label={`Remove ${named(member)}`}
              onClick={() => void remove()}
            >
              Remove
            </Button>
          </>
        )
        : <Text size="sm" c="dimmed">{capitalize(member.role)}</Text>}
    </Row>
  );
}

function LeaverRow({ leaver }: { leaver: Leaver }) {
  const may = useHasRole("editor");
  const name = leaver.name || leaver.email || "a former member";
  const what = [
    leaver.automations ? formatCount(leaver.automations, "automation") : "",
    leaver.webhooks ? formatCount(leaver.webhooks, "webhook token") : "",
  ].filter(Boolean).join(" and ");
  const when = leaver.disabled
    ? "disabled"
    : leaver.left_at
    ? `left ${formatDate(leaver.left_at)}`
    : "left";
  return (
    <Row title={name} description={`${what} · ${when}`}>
      {may ? <Takeover memberId={leaver.id} name={name} /> : null}
    </Row>
  );
}

function InvitationRow({ invitation, members }: { invitation: Invitation; members: Member[] }) {
  const mayEnd = useHasRole("admin");
  const { busy, act } = useAction();
  const asker = members.find((one) => one.id === invitation.invited_by);
  const end = () =>
    act(async () => {
      await client.DELETE("/api/v1/invitations/{invitation_id}", {
        params: { path: { invitation_id: invitation.id } },
      });
      await refresh("/api/v1/members");
    }, "The invitation is taken back.");
  return (
    <Row
      title={invitation.email}
      description={`${capitalize(invitation.role)}${
        asker ? ` · asked by ${named(asker)}` : ""
      } · until ${formatDate(invitation.expires_at)}`}
    >
      {mayEnd
        ? (
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            aria-label={`Take back the invitation of ${invitation.email}`}
            onClick={() => void end()}
          >
            Take back
          </Button>
        )
        : null}
    </Row>
  );
}
