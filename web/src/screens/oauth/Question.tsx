// The consent form: the client, the workspace, the access level, and allow or deny.

import { Alert, Anchor, Button, Group, Loader, Select, Stack, Text, Title } from "@mantine/core";
import { History, ShieldQuestion } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { client, queries, setCsrf } from "../../api/client";
import type { Role, Session } from "../../api/session";
import { isUnnamed } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { escapeInvisible, formatDate } from "../../kit/format";
import { Choices } from "./Choices";
import { useClickGuard } from "./useClickGuard";
import { Tools } from "./Tools";
import {
  type ClientRequest,
  describeCautions,
  describeDestination,
  mayGoTo,
  titleOf,
} from "./consentText";
import { t } from "../../strings";

type Props = {
  requestId: string;
  request: ClientRequest;
  who: Session;
  /** Consent is skipped: the same access was granted before. */
  passes: boolean;
  again: () => Promise<unknown>;
};
type State = { kind: "asking" | "busy" } | { kind: "gone"; redirect: string; agreed: boolean };

export function ConsentForm({ requestId, request, who, passes, again }: Props) {
  const [role, setRole] = useState<Role>(request.suggested);
  const [state, setState] = useState<State>({ kind: "asking" });
  const [problem, setProblem] = useState<unknown>(null);
  const settled = useClickGuard();

  const answer = async (agree: boolean) => {
    setState({ kind: "busy" });
    setProblem(null);
    try {
      const { data } = await client.POST("/api/v1/oauth/requests/{request_id}/answer", {
        params: { path: { request_id: requestId } },
        body: { agree, workspace_id: request.workspace.id, role: agree ? role : null },
      });
      const redirect = data!.redirect;
      setState({ kind: "gone", redirect, agreed: agree });
      if (mayGoTo(redirect)) location.assign(redirect);
    } catch (refusal) {
      setProblem(refusal);
      setState({ kind: "asking" });
    }
  };
  // A client with the same access granted before, at a web address, is redirected at once. Guarded,
  // because React runs effects twice in development.
  const passed = useRef(false);
  useEffect(() => {
    if (!passes || passed.current) return;
    passed.current = true;
    void answer(true);
  }, []);

  if (state.kind === "gone") return <RedirectNote request={request} {...state} />;
  if (passes && !problem) return <SkippedNote request={request} />;
  const busy = state.kind === "busy";
  return (
    <Stack gap="lg">
      <Head request={request} />
      <Where request={request} who={who} again={again} />
      {request.agreed ? <PreviousConsent request={request} /> : null}
      <Choices
        choices={request.choices}
        requested={request.asked}
        value={role}
        onChange={setRole}
      />
      <Tools tools={request.tools} role={role} />
      {problem ? <ProblemNote problem={problem} again={() => void again()} /> : null}
      <Group grow gap="sm">
        <Button
          variant="default"
          size="md"
          disabled={busy}
          onClick={() => void answer(false)}
        >
          {t.oauth.dontAllow}
        </Button>
        <Button
          size="md"
          loading={busy}
          disabled={!settled}
          onClick={() => void answer(true)}
        >
          {t.oauth.allow}
        </Button>
      </Group>
      <Text size="xs" c="dimmed" ta="center">
        {t.oauth.youCanDisconnectItAt(
          <Anchor href="/connect" inherit underline="always">{t.oauth.mcpClients}</Anchor>,
        )}
      </Text>
    </Stack>
  );
}

function Head({ request }: { request: ClientRequest }) {
  const place = describeDestination(request.redirect);
  return (
    <Stack gap={6}>
      <Title order={1} size="h3" className="wrap-anywhere">
        {t.oauth.allowToConnect(escapeInvisible(request.client.name))}
      </Title>
      <Text className="wrap-anywhere">
        {place.lead}
        <Text span fw={650}>{escapeInvisible(place.name)}</Text>
        {place.rest}
      </Text>
      <Alert variant="light" color="yellow" icon={<ShieldQuestion size={16} />} mt={4} p="sm">
        <Text size="sm">{describeCautions(request.redirect)}</Text>
      </Alert>
    </Stack>
  );
}

function Where({ request, who, again }: Pick<Props, "request" | "who" | "again">) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const me = isUnnamed(who.user) ? "you" : who.user.name || who.user.email;
  const go = async (workspaceId: string | null) => {
    if (!workspaceId || workspaceId === request.workspace.id) return;
    setBusy(true);
    try {
      const { data } = await client.POST("/api/v1/session/workspace", {
        body: { workspace_id: workspaceId },
      });
      setCsrf(data?.csrf_token);
      await queries.invalidateQueries({ queryKey: ["get", "/api/v1/session"] });
      await again();
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
  };
  if (who.workspaces.length < 2) {
    return (
      <Text size="sm">
        {t.oauth.itActsAsInThe(<b>{me}</b>, <b>{escapeInvisible(request.workspace.name)}</b>)}
      </Text>
    );
  }
  return (
    <Stack gap="xs">
      <Select
        label={t.oauth.workspace}
        description={t.oauth.itActsAsInThis(me)}
        data={who.workspaces.map((one) => ({ value: one.id, label: one.name }))}
        value={request.workspace.id}
        onChange={(chosen) => void go(chosen)}
        disabled={busy}
        allowDeselect={false}
      />
      {problem ? <ProblemNote problem={problem} /> : null}
    </Stack>
  );
}

function PreviousConsent({ request }: { request: ClientRequest }) {
  const { role, at } = request.agreed!;
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <History size={16} aria-hidden style={{ marginTop: 3, flexShrink: 0 }} />
      <Text size="sm" c="dimmed">{t.oauth.youAgreedToForThis(titleOf(role), formatDate(at))}</Text>
    </Group>
  );
}

function SkippedNote({ request }: { request: ClientRequest }) {
  return (
    <Stack align="center" gap="sm" py="md" ta="center">
      <Title order={1} size="h4" className="wrap-anywhere">
        {t.oauth.returningTo(escapeInvisible(request.redirect.name))}
      </Title>
      <Loader size="sm" aria-label={t.oauth.loading} />
      <Text size="sm" c="dimmed">
        {t.oauth.asksForNoMoreThan(
          escapeInvisible(request.client.name),
          escapeInvisible(request.workspace.name),
        )}
      </Text>
    </Stack>
  );
}

type LeftProps = { request: ClientRequest; redirect: string; agreed: boolean };

function RedirectNote({ request, redirect, agreed }: LeftProps) {
  return (
    <Stack gap="sm">
      <Title order={1} size="h3" className="wrap-anywhere">
        {agreed ? t.oauth.isConnected(request.client.name) : t.oauth.youDeclined}
      </Title>
      <Text size="sm">
        {agreed ? t.oauth.theClientContinuesFromHere : t.oauth.theClientIsNotifiedAnd}
      </Text>
      <Group gap="xs">
        {mayGoTo(redirect)
          ? (
            <Button component="a" href={redirect} variant="default">
              {t.oauth.backToTheClient}
            </Button>
          )
          : null}
        <Button component="a" href="/connect" variant="subtle">{t.oauth.connectedClients}</Button>
      </Group>
    </Stack>
  );
}
