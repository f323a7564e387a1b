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
import { capitalize, escapeInvisible } from "../../kit/format";
import { MakeToken } from "./MakeToken";
import { Row, Rows } from "./Rows";
import { Section, Sections } from "./Section";
import { describeToken, isAlive, type Token } from "./tokenText";
import { t } from "../../strings";

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
        title={all ? t.settings.tokensOfAllMembers : t.settings.yourTokens}
        description={t.settings.aTokenWorksOnlyIn(who.workspace.name)}
      >
        {mayAll
          ? (
            <Switch
              mb="xs"
              label={t.settings.showTokensOfOtherMembers}
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
      <Empty icon={KeyRound} title={t.settings.noTokensYet}>
        {t.settings.programsUseATokenTo}
      </Empty>
    );
  }
  return (
    <Rows label={t.settings.tokens}>
      {tokens.map((one) => <TokenRow key={one.id} token={one} />)}
    </Rows>
  );
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
      title: t.settings.revoke(token.name),
      message: t.settings.programsThatUseItAre,
      yes: t.settings.revoke2,
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.DELETE("/api/v1/tokens/{token_id}", {
        params: { path: { token_id: token.id } },
      });
      await refresh("/api/v1/tokens");
    }, t.settings.isRevoked(token.name));
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
                {t.settings.approvesAutomationWithoutAPerson(token.approves.length)}
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
        aria-label={t.settings.revoke3(token.name)}
        onClick={() => void revoke()}
      >
        {t.settings.revoke2}
      </Button>
    </Row>
  );
}
