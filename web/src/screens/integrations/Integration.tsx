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

const BACK = { to: "/integrations", label: "Integrations" };

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
            <PageHead title="No such integration" back={BACK} />
            <Empty icon={Compass} title={`There is no integration called ${source}`}>
              It may come with a package that is not installed on this server.
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
                label: "Test the connection",
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
            <Part title={`Your decisions in ${one.label}`}>
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
      {one.state === "reconnect"
        ? `${named} has to be connected again. What uses it is blocked until then. `
        : ""}
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
          title: `Withdraw ${one.label} from the workspace?`,
          message:
            "Only the member who connected it uses it then. Other members' automations are " +
            "blocked until they connect their own.",
          yes: "Withdraw",
          dangerous: true,
        }
        : {
          title: `Share ${one.label} with the workspace?`,
          message: `Automations of every member may use ${one.account || "this account"}, as far ` +
            "as their grants go. It goes on working when you leave.",
          yes: "Share",
        },
    );
    if (!sure) return;
    await act(async () => {
      const way = "/api/v1/integrations/{integration}/share" as const;
      if (shared) await client.DELETE(way, path);
      else await client.POST(way, { ...path, body: {} });
      await refresh("/api/v1/integrations");
    }, shared ? "It is not shared any more." : "It belongs to the workspace now.");
  };
  if (!shared && !own) return null;
  return (
    <Button variant="default" loading={busy} onClick={() => void change()}>
      {shared ? "Withdraw from the workspace" : "Share with the workspace"}
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
      if (data?.works) notifyDone(`${one.label} works.`);
      else notifyProblem(new Error(data?.problem?.detail ?? "It did not answer."));
    });
  const end = async () => {
    const sure = await confirm({
      title: `Disconnect ${one.label}?`,
      message: one.connection?.owner === "workspace"
        ? "The whole workspace uses it. Automations that do are blocked until it is connected again."
        : "Automations that use it are blocked until it is connected again.",
      yes: "Disconnect",
      dangerous: true,
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/integrations/{integration}/connection", path);
      await refresh("/api/v1/integrations");
    }, `${one.label} is disconnected.`);
  };
  return (
    <Group gap="xs">
      <Button variant="default" loading={busy} onClick={() => void test()}>
        Test the connection
      </Button>
      <Button variant="subtle" color="red" onClick={() => void end()}>Disconnect</Button>
    </Group>
  );
}
