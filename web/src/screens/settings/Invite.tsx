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
      title="Invite somebody"
      description="You get a link to send to them. Asking again makes a new link and ends the one before."
    >
      <form onSubmit={submit}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <Group align="flex-start" gap="sm">
            <TextInput
              flex="1 1 14rem"
              label="Email"
              type="email"
              required
              maxLength={254}
              autoComplete="off"
              placeholder="ada@example.org"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              error={refusal.at("email")}
            />
            <RoleSelect
              w={150}
              label="Role"
              roles={rolesToGive(who.role)}
              value={role}
              onChange={setRole}
              error={refusal.at("role")}
            />
            <Button type="submit" loading={busy} mt={{ base: 0, xs: 25 }}>Invite</Button>
          </Group>
          <Text size="sm" c="dimmed">{ROLE_DESCRIPTIONS[role]}</Text>
          {made
            ? (
              <ShownOnce
                title={`A link for ${made.email}`}
                description={`Send it to them alone: until they have chosen a password, whoever opens it is that person here. It is not shown again.${
                  ISLAND.test(made.link)
                    ? " It leads to this machine and opens nowhere else; MAINSPRING_PUBLIC_URL says how others reach it."
                    : ""
                }`}
                label="Invitation link"
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
