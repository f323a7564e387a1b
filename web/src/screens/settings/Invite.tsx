// Inviting a member: an email, a role, and a link that is shown once.

import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { type Role, useSession } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { useSubmit } from "../../kit/formErrors";
import { ShownOnce } from "./ShownOnce";
import { ROLE_DESCRIPTIONS, rolesToGive } from "./roles";
import { RoleSelect } from "./RoleSelect";
import { Section } from "./Section";
import { t } from "../../strings";

// An address that means localhost on every machine.
const ISLAND = /^https?:\/\/(127\.|localhost|\[::1\])/;

export function Invite() {
  const who = useSession();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("editor");
  const [made, setMade] = useState<{ email: string; link: string } | null>(null);
  const { busy, refusal, send } = useSubmit("email", "role");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(async () => {
      const { data } = await client.POST("/api/v1/invitations", { body: { email, role } });
      setMade({ email: data!.invitation.email, link: data!.link });
      setEmail("");
      await refresh("/api/v1/members");
    });
  };
  return (
    <Section
      title={t.settings.inviteAMember}
      description={t.settings.youGetALinkTo}
    >
      <form onSubmit={submit}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <Group align="flex-start" gap="sm">
            <TextInput
              flex="1 1 14rem"
              label={t.settings.email}
              type="email"
              required
              maxLength={254}
              autoComplete="off"
              placeholder={t.settings.adaExampleOrg}
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              error={refusal.at("email")}
            />
            <RoleSelect
              w={150}
              label={t.settings.role}
              roles={rolesToGive(who.role)}
              value={role}
              onChange={setRole}
              error={refusal.at("role")}
            />
            <Button type="submit" loading={busy} mt={{ base: 0, xs: 25 }}>
              {t.settings.invite}
            </Button>
          </Group>
          <Text size="sm" c="dimmed">{ROLE_DESCRIPTIONS[role]}</Text>
          {made
            ? (
              <ShownOnce
                title={t.settings.aLinkFor(made.email)}
                description={t.settings.sendItOnlyToThemUntil(ISLAND.test(made.link))}
                label={t.settings.invitationLink}
                text={made.link}
                onClose={() => setMade(null)}
              />
            )
            : null}
        </Stack>
      </form>
    </Section>
  );
}
