// Access tokens for programs: list, create (shown once) and revoke.

import { Badge, Button, Group, Switch } from "@mantine/core";
import { KeyRound } from "lucide-react";
import { api, client, refresh } from "../../api/client";
import { useHasRole, useSession } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { Empty } from "../../kit/Empty";
import { capitalize, escapeInvisible, formatCount } from "../../kit/format";
import { MakeToken } from "./MakeToken";
import { Row, Rows } from "./Rows";
import { Section, Sections } from "./Section";
import { describeToken, isAlive, type Token } from "./tokenText";

export function Tokens() {
  const who = useSession();
  const mayAll = useHasRole("admin");
  const [address, change] = useUrlState();
  const all = mayAll && address.of === "everybody";
  const tokens = api.useQuery("get", "/api/v1/tokens", { params: { query: { all } } });
  return (
    <Sections>
      <MakeToken />
      <Section
        title={all ? "Tokens of everybody" : "Your tokens"}
        description={`A token works in ${who.workspace.name} alone, and never gives more than its member has.`}
      >
        {mayAll
          ? (
            <Switch
              mb="xs"
              label="Show those of other members"
              checked={all}
              onChange={(event) =>
                change({
                  of: event.currentTarget.checked ? "everybody" : undefined,
                })}
            />
          )
          : null}
        <QueryResult of={tokens}>
          {(found) => <List tokens={found.tokens.filter((one) => isAlive(one))} />}
        </QueryResult>
      </Section>
    </Sections>
  );
}

function List({ tokens }: { tokens: Token[] }) {
  if (!tokens.length) {
    return (
      <Empty icon={KeyRound} title="No tokens yet">
        Programs that act for you show a token. Make one above; its text is shown once.
      </Empty>
    );
  }
  return <Rows label="Tokens">{tokens.map((one) => <TokenRow key={one.id} token={one} />)}</Rows>;
}

function TokenRow({ token }: { token: Token }) {
  const who = useSession();
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const members = api.useQuery("get", "/api/v1/members", {}, {
    enabled: token.member_id !== who.user.id,
  });
  const holder = members.data?.members.find((one) => one.id === token.member_id);
  const revoke = async () => {
    const yes = await confirm({
      title: `Revoke ${token.name}?`,
      message: "Whatever uses it is refused from then on.",
      yes: "Revoke",
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.DELETE("/api/v1/tokens/{token_id}", {
        params: { path: { token_id: token.id } },
      });
      await refresh("/api/v1/tokens");
    }, `${token.name} is revoked.`);
  };
  return (
    <Row
      title={
        <Group gap="xs">
          {escapeInvisible(token.name)}
          <Badge variant="light" color="gray" tt="none">{capitalize(token.role)}</Badge>
          {token.approves
            ? (
              <Badge variant="light" color="red" tt="none" title={token.warning ?? undefined}>
                approves {formatCount(token.approves.length, "automation")} without a person
              </Badge>
            )
            : null}
        </Group>
      }
      description={holder
        ? `${holder.name || holder.email} · ${describeToken(token)}`
        : describeToken(token)}
    >
      <Button
        size="compact-sm"
        variant="subtle"
        color="red"
        loading={busy}
        aria-label={`Revoke ${token.name}`}
        onClick={() => void revoke()}
      >
        Revoke
      </Button>
    </Row>
  );
}
