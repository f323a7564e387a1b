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
import { t } from "../../strings";

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
            title={t.settings.aLinkFor(made.email)}
            description={t.settings.sendItOnlyToThem}
            label={t.settings.link}
            text={made.link}
            onClose={() => setMade(null)}
          />
        )
        : null}
      <AddPerson onMade={setMade} />
      <Section
        title={t.settings.people}
        description={t.settings.everyoneWithAnAccountIn}
      >
        <QueryResult of={users}>
          {(found) => (
            <Rows label={t.settings.people}>
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
      title={t.settings.addAPerson}
      description={t.settings.theyGetTheirOwnWorkspace}
    >
      <form onSubmit={submit}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <Group align="flex-start" gap="sm">
            <TextInput
              flex="1 1 12rem"
              label={t.settings.email}
              type="email"
              required
              autoComplete="off"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              error={refusal.at("email")}
            />
            <TextInput
              flex="1 1 12rem"
              label={t.settings.name}
              autoComplete="off"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={refusal.at("name")}
            />
          </Group>
          <Switch
            label={t.settings.administratorOfTheInstallation}
            checked={administrator}
            onChange={(event) => setAdministrator(event.currentTarget.checked)}
          />
          <Group>
            <Button type="submit" variant="default" loading={busy}>{t.settings.add}</Button>
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
      title: t.settings.disable(name),
      message: t.settings.theirSessionsAndTokensAre,
      yes: t.settings.disable2,
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.POST("/api/v1/admin/users/{user_id}/disable", { params });
      await refresh("/api/v1/admin", "/api/v1/members");
    }, t.settings.isDisabled(name));
  };
  const letIn = () =>
    act(async () => {
      await client.POST("/api/v1/admin/users/{user_id}/enable", { params });
      await refresh("/api/v1/admin", "/api/v1/members");
    }, t.settings.isEnabled(name));
  const reset = async () => {
    const yes = await confirm({
      title: t.settings.resetThePasswordOf(name),
      message: t.settings.youGetALinkFor,
      yes: t.settings.createLink,
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
          {user.administrator
            ? <Badge variant="light" tt="none">{t.settings.administrator}</Badge>
            : null}
          {user.disabled_at
            ? <Badge color="red" variant="light" tt="none">{t.settings.disabled}</Badge>
            : null}
        </Group>
      }
      description={t.settings.since(user.email, formatDate(user.created_at), user.has_password)}
    >
      <Button
        size="compact-sm"
        variant="default"
        loading={busy}
        onClick={() => void reset()}
        aria-label={t.settings.resetLinkFor(name)}
      >
        {t.settings.resetLink}
      </Button>
      {user.id === who.user.id ? null : user.disabled_at
        ? (
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            onClick={() => void letIn()}
            aria-label={t.settings.enable2(name)}
          >
            {t.settings.enable}
          </Button>
        )
        : (
          <Button
            size="compact-sm"
            variant="subtle"
            color="red"
            loading={busy}
            onClick={() => void shutOut()}
            aria-label={t.settings.disable3(name)}
          >
            {t.settings.disable2}
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
    <Section title={t.settings.workspaces} description={t.settings.allWorkspacesOfThisInstallation}>
      <QueryResult of={found}>
        {({ workspaces }) => (
          <Table.ScrollContainer
            minWidth={380}
            scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}
          >
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t.settings.name}</Table.Th>
                  <Table.Th>{t.settings.owners}</Table.Th>
                  <Table.Th ta="right">{t.settings.members}</Table.Th>
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
