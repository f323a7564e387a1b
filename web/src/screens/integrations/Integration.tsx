// One integration: its state, connecting it, what it follows, and polling it.

import { Alert, Button, Group, Stack } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { Compass, TriangleAlert } from "lucide-react";
import { api, client, refresh } from "../../api/client";
import { useHasRole, useSession } from "../../api/session";
import { notifyDone, notifyProblem, useAction } from "../../kit/useAction";
import { QueryResult } from "../../kit/QueryResult";
import { useConfirm } from "../../kit/Confirm";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { Status } from "../../kit/Status";
import { ClientPart } from "./ClientPart";
import { ConnectAccount } from "./ConnectAccount";
import { Facts } from "./Facts";
import { Part } from "./Part";
import { ChatPart, PollingPart } from "./Polling";
import { SlackLink } from "./SlackLink";
import { type Integration as One, stateOf } from "./states";
import { t } from "../../strings";

const BACK = { to: "/integrations", label: t.integrations.integrations };

export default function Integration() {
  const { source } = useParams({ strict: false }) as { source: string };
  const integrations = api.useQuery("get", "/api/v1/integrations");
  return (
    <QueryResult of={integrations} lines={5}>
      {({ integrations: all }) => {
        const one = all.find((found) => found.name === source);
        if (one) return <Found one={one} />;
        return (
          <>
            <PageHead title={t.integrations.integrationNotFound} back={BACK} />
            <Empty icon={Compass} title={t.integrations.thereIsNoIntegrationNamed(source)}>
              {t.integrations.itMayBePartOf}
            </Empty>
          </>
        );
      }}
    </QueryResult>
  );
}

function Found({ one }: { one: One }) {
  const mayConnect = useHasRole("editor");
  const mayAdmit = useHasRole("admin");
  const who = useSession();
  const own = one.connection?.held_by === who.user.id;
  const clients = api.useQuery("get", "/api/v1/oauth-clients", {}, {
    enabled: mayAdmit && one.auth === "oauth",
  });
  const provider = clients.data?.providers.find((found) => found.provider === one.oauth_provider);
  const { label: text, status } = stateOf(one);
  return (
    <>
      <PageHead
        back={BACK}
        title={one.label}
        beside={<Status value={status} label={text} />}
        sub={one.description}
        right={
          <>
            <CopyAs
              operations={[{
                label: t.integrations.testConnection,
                operation: {
                  method: "POST",
                  path: `/api/v1/integrations/${one.name}/test`,
                  tool: "test_integration_connection",
                  arguments: { integration: one.name },
                },
              }]}
            />
            {one.connection && mayAdmit ? <Sharing one={one} own={own} /> : null}
            {own && mayConnect ? <IntegrationActions one={one} /> : null}
          </>
        }
      />
      <Stack gap="lg">
        <ConnectionProblem one={one} />
        <Facts one={one} />
        {provider && !provider.has_client ? null : <ConnectAccount one={one} />}
        {mayConnect && own ? <PollingPart one={one} /> : null}
        {mayConnect && own && one.prompts_over === "chat" ? <ChatPart one={one} /> : null}
        {one.prompts_over === "account" && one.connection
          ? (
            <Part title={t.integrations.decideIn(one.label)}>
              <SlackLink />
            </Part>
          )
          : null}
        {provider ? <ClientPart one={one} provider={provider} /> : null}
      </Stack>
    </>
  );
}

/** Why it fails, and which connection is affected. */
function ConnectionProblem({ one }: { one: One }) {
  const error = one.connection?.last_error;
  if (one.state !== "reconnect" && !(error && one.connection?.health !== "ok")) return null;
  const named = one.account ? `${one.label} (${one.account})` : one.label;
  return (
    <Alert color="red" variant="light" icon={<TriangleAlert size={16} />} role="status">
      {one.state === "reconnect" ? t.integrations.mustBeConnectedAgainAutomations(named) : ""}
      {error ? `${error.detail} ${one.state === "reconnect" ? "" : error.suggestion ?? ""}` : ""}
    </Alert>
  );
}

/** Sharing the account with the workspace, and withdrawing it. */
function Sharing({ one, own }: { one: One; own: boolean }) {
  const { busy, act } = useAction();
  const confirm = useConfirm();
  const path = { params: { path: { integration: one.name } } };
  const shared = one.connection?.owner === "workspace";
  const change = async () => {
    const sure = await confirm(
      shared
        ? {
          title: t.integrations.stopSharingWithTheWorkspace(one.label),
          message: t.integrations.onlyTheMemberWhoConnected,
          yes: t.integrations.stopSharing,
          dangerous: true,
        }
        : {
          title: t.integrations.shareWithTheWorkspace(one.label),
          message: t.integrations.automationsOfEveryMemberCan(
            one.account || t.integrations.thisAccount,
          ),
          yes: t.integrations.share,
        },
    );
    if (!sure) return;
    await act(async () => {
      const way = "/api/v1/integrations/{integration}/share" as const;
      if (shared) await client.DELETE(way, path);
      else await client.POST(way, { ...path, body: {} });
      await refresh("/api/v1/integrations");
    }, shared ? t.integrations.itIsNoLongerShared : t.integrations.itIsSharedWithThe);
  };
  if (!shared && !own) return null;
  return (
    <Button variant="default" loading={busy} onClick={() => void change()}>
      {shared ? t.integrations.stopSharingWithTheWorkspace2 : t.integrations.shareWithTheWorkspace2}
    </Button>
  );
}

function IntegrationActions({ one }: { one: One }) {
  const { busy, act } = useAction();
  const confirm = useConfirm();
  const path = { params: { path: { integration: one.name } } };
  const test = () =>
    act(async () => {
      const { data } = await client.POST("/api/v1/integrations/{integration}/test", {
        ...path,
        body: {},
      });
      await refresh("/api/v1/integrations");
      if (data?.works) notifyDone(t.integrations.works(one.label));
      else notifyProblem(new Error(data?.problem?.detail ?? t.integrations.noResponse));
    });
  const end = async () => {
    const sure = await confirm({
      title: t.integrations.disconnect(one.label),
      message: one.connection?.owner === "workspace"
        ? t.integrations.theWholeWorkspaceUsesIt
        : t.integrations.automationsThatUseItAre,
      yes: t.integrations.disconnect2,
      dangerous: true,
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/integrations/{integration}/connection", path);
      await refresh("/api/v1/integrations");
    }, t.integrations.isDisconnected(one.label));
  };
  return (
    <Group gap="xs">
      <Button variant="default" loading={busy} onClick={() => void test()}>
        {t.integrations.testConnection}
      </Button>
      <Button variant="subtle" color="red" onClick={() => void end()}>
        {t.integrations.disconnect2}
      </Button>
    </Group>
  );
}
