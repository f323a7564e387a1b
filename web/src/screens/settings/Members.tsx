// The members and their roles; an invitation creates a link that is shown once.

import { Avatar, Badge, Button, Group, Stack, Text } from "@mantine/core";
import { api, client, refresh, type Schemas } from "../../api/client";
import { type Role, useHasRole, useSession } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { capitalize, formatDate } from "../../kit/format";
import { Invite } from "./Invite";
import { mayChange, ROLE_DESCRIPTIONS, rolesToGive } from "./roles";
import { RoleSelect } from "./RoleSelect";
import { Row, Rows } from "./Rows";
import { Section, Sections } from "./Section";
import { Takeover } from "./Takeover";
import { t } from "../../strings";

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
        title={t.settings.members}
        description={mayInvite
          ? t.settings.aMembersRoleDeterminesTheir
          : t.settings.adminsCanInviteMembersAnd}
      >
        <QueryResult of={members}>
          {(found) => (
            <Rows label={t.settings.members}>
              {found.members.map((one) => <MemberRow key={one.id} member={one} />)}
            </Rows>
          )}
        </QueryResult>
      </Section>
      {members.data?.invitations.length
        ? (
          <Section
            title={t.settings.openInvitations}
            description={t.settings.aLinkWorksOnceFor}
          >
            <Rows label={t.settings.openInvitations}>
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
            title={t.settings.withoutAnOwner}
            description={t.settings.automationsAndWebhooksOfFormer}
          >
            <Rows label={t.settings.withoutAnOwner}>
              {members.data.left.map((one) => <LeaverRow key={one.id} leaver={one} />)}
            </Rows>
          </Section>
        )
        : null}
      <Section title={t.settings.roles} description={t.settings.eachRoleIncludesThePermissions}>
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
    }, t.settings.isNow(named(member), role));
  const remove = async () => {
    const yes = await confirm({
      title: t.settings.remove(named(member)),
      message: t.settings.theirAccessEndsImmediatelyTheir,
      yes: t.settings.remove2,
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.DELETE("/api/v1/members/{member_id}", { params });
      await changed();
    }, t.settings.isNoLongerAMember(named(member)));
  };
  return (
    <Row
      title={
        <Group gap="xs">
          <Avatar size={26} radius="xl" color="spring" name={named(member)} aria-hidden />
          {named(member)}
          {member.id === who.user.id
            ? <Badge variant="light" tt="none">{t.settings.you}</Badge>
            : null}
          {member.disabled
            ? <Badge color="red" variant="light" tt="none">{t.settings.disabled}</Badge>
            : null}
        </Group>
      }
      description={t.settings.since2(member.email, formatDate(member.joined_at))}
    >
      {mayChange(who, member)
        ? (
          <>
            <RoleSelect
              w={130}
              size="xs"
              aria-label={t.settings.roleOf(named(member))}
              roles={rolesToGive(who.role)}
              value={member.role}
              disabled={busy}
              onChange={(role) => void change(role)}
            />
            <Button
              size="compact-sm"
              variant="subtle"
              color="red"
              aria-label={t.settings.remove3(named(member))}
              onClick={() => void remove()}
            >
              {t.settings.remove2}
            </Button>
          </>
        )
        : <Text size="sm" c="dimmed">{capitalize(member.role)}</Text>}
    </Row>
  );
}

function LeaverRow({ leaver }: { leaver: Leaver }) {
  const may = useHasRole("editor");
  const name = leaver.name || leaver.email || t.settings.aFormerMember;
  const what = [
    leaver.automations ? t.counts.automations(leaver.automations) : "",
    leaver.webhooks ? t.counts.webhookTokens(leaver.webhooks) : "",
  ].filter(Boolean).join(" and ");
  const when = leaver.disabled
    ? t.settings.disabled2
    : leaver.left_at
    ? t.settings.left(formatDate(leaver.left_at))
    : t.settings.left2;
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
    }, t.settings.theInvitationIsWithdrawn);
  return (
    <Row
      title={invitation.email}
      description={t.settings.until(
        capitalize(invitation.role),
        asker ? t.settings.invitedBy(named(asker)) : "",
        formatDate(invitation.expires_at),
      )}
    >
      {mayEnd
        ? (
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            aria-label={t.settings.withdrawTheInvitationOf(invitation.email)}
            onClick={() => void end()}
          >
            {t.settings.withdraw}
          </Button>
        )
        : null}
    </Row>
  );
}
