// Administration of the installation: accounts and workspaces. It shows no workspace data.

import { Badge, Button, Group, Stack, Switch, Table, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { type Answer, api, client, refresh } from "../../api/client";
import { useSession } from "../../api/session";
import { ProblemNote, QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { useSubmit } from "../../kit/formErrors";
import { escapeInvisible, formatDate } from "../../kit/format";
import { ShownOnce } from "./ShownOnce";
import { Row, Rows } from "./Rows";
import { Section, Sections } from "./Section";

type User = Answer<"admin_list_users">["users"][number];
type NewUser = { email: string; link: string };

const MOST = 200;

export function Administration() {
  const [made, setMade] = useState<NewUser | null>(null);
  const users = api.useQuery("get", "/api/v1/admin/users", {
    params: { query: { limit: MOST } },
  });
  return (
    <Sections>
      {made
        ? (
          <ShownOnce
            title={`A link for ${made.email}`}
            description="Send it to them alone; it works once. It is not shown again."
            label="Link"
            text={made.link}
            onClose={() => setMade(null)}
          />
        )
        : null}
      <AddPerson onMade={setMade} />
      <Section
        title="People"
        description="Everybody who has an account here, whichever workspaces they are in."
      >
        <QueryResult of={users}>
          {(found) => (
            <Rows label="People">
              {found.users.map((one) => <Person key={one.id} user={one} onMade={setMade} />)}
            </Rows>
          )}
        </QueryResult>
      </Section>
      <Workspaces />
    </Sections>
  );
}

function AddPerson({ onMade }: { onMade: (made: NewUser) => void }) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [administrator, setAdministrator] = useState(false);
  const { busy, refusal, send } = useSubmit("email", "name");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(async () => {
      const body = { email, administrator, ...(name.trim() ? { name: name.trim() } : {}) };
      const { data } = await client.POST("/api/v1/admin/users", { body });
      onMade({ email: data!.user.email, link: data!.link });
      setEmail("");
      setName("");
      setAdministrator(false);
      await refresh("/api/v1/admin");
    });
  };
  return (
    <Section
      title="Add a person"
      description="They get a workspace of their own, and a link to come in by."
    >
      <form onSubmit={submit}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <Group align="flex-start" gap="sm">
            <TextInput
              flex="1 1 12rem"
              label="Email"
              type="email"
              required
              autoComplete="off"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              error={refusal.at("email")}
            />
            <TextInput
              flex="1 1 12rem"
              label="Name"
              autoComplete="off"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={refusal.at("name")}
            />
          </Group>
          <Switch
            label="Also looks after the installation"
            checked={administrator}
            onChange={(event) => setAdministrator(event.currentTarget.checked)}
          />
          <Group>
            <Button type="submit" variant="default" loading={busy}>Add</Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function Person({ user, onMade }: { user: User; onMade: (made: NewUser) => void }) {
  const who = useSession();
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const params = { path: { user_id: user.id } };
  const name = user.name || user.email;
  const shutOut = async () => {
    const yes = await confirm({
      title: `Shut ${name} out?`,
      message: "Their sessions and tokens are refused from now on. They can be let in again.",
      yes: "Shut out",
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.POST("/api/v1/admin/users/{user_id}/disable", { params });
      await refresh("/api/v1/admin", "/api/v1/members");
    }, `${name} is shut out.`);
  };
  const letIn = () =>
    act(async () => {
      await client.POST("/api/v1/admin/users/{user_id}/enable", { params });
      await refresh("/api/v1/admin", "/api/v1/members");
    }, `${name} may come in again.`);
  const reset = async () => {
    const yes = await confirm({
      title: `A new password for ${name}?`,
      message:
        "You get a link for them. Using it forgets the password they have and ends their sessions and tokens.",
      yes: "Make a link",
    });
    if (!yes) return;
    await act(async () => {
      const { data } = await client.POST("/api/v1/admin/users/{user_id}/reset-password", {
        params,
      });
      onMade({ email: data!.user.email, link: data!.link });
    });
  };
  return (
    <Row
      title={
        <Group gap="xs">
          {name}
          {user.administrator ? <Badge variant="light" tt="none">administrator</Badge> : null}
          {user.disabled_at ? <Badge color="red" variant="light" tt="none">shut out</Badge> : null}
        </Group>
      }
      description={`${user.email} · since ${formatDate(user.created_at)}${
        user.has_password ? "" : " · no password yet"
      }`}
    >
      <Button
        size="compact-sm"
        variant="default"
        loading={busy}
        onClick={() => void reset()}
        aria-label={`Reset link for ${name}`}
      >
        Reset link
      </Button>
      {user.id === who.user.id ? null : user.disabled_at
        ? (
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            onClick={() => void letIn()}
            aria-label={`Let in ${name}`}
          >
            Let in
          </Button>
        )
        : (
          <Button
            size="compact-sm"
            variant="subtle"
            color="red"
            loading={busy}
            onClick={() => void shutOut()}
            aria-label={`Shut out ${name}`}
          >
            Shut out
          </Button>
        )}
    </Row>
  );
}

function Workspaces() {
  const found = api.useQuery("get", "/api/v1/admin/workspaces", {
    params: { query: { limit: MOST } },
  });
  const users = api.useQuery("get", "/api/v1/admin/users", {
    params: { query: { limit: MOST } },
  });
  const named = (id: string) => {
    const user = users.data?.users.find((one) => one.id === id);
    return user ? user.name || user.email : users.isPending ? "…" : id;
  };
  return (
    <Section title="Workspaces" description="All there are, whoever is in them.">
      <QueryResult of={found}>
        {({ workspaces }) => (
          <Table.ScrollContainer
            minWidth={380}
            scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}
          >
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>Owners</Table.Th>
                  <Table.Th ta="right">Members</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {workspaces.map((one) => (
                  <Table.Tr key={one.id}>
                    <Table.Td className="wrap-anywhere">{escapeInvisible(one.name)}</Table.Td>
                    <Table.Td className="wrap-anywhere">
                      {one.owners.map(named).join(", ")}
                    </Table.Td>
                    <Table.Td ta="right" className="numbers">
                      {one.members}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
      </QueryResult>
    </Section>
  );
}
