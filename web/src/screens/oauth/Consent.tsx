// The OAuth consent screen. The user reads which client asks, for which workspace and what for, and
// answers once. It is outside the shell: it has no links except the answer.

import { Anchor, Card, Center, Group, Loader, Stack, Text, Title } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { api, queries, setCsrf, setWorkspace, whenSignedOut } from "../../api/client";
import { Problem } from "../../api/problem";
import type { Session } from "../../api/session";
import { ProblemNote, SlowNote } from "../../kit/QueryResult";
import { Mark } from "../../shell/Mark";
import { readDestination, storeDestination } from "../../shell/signInRedirect";
import { PasswordForm } from "../sign-in/PasswordForm";
import { ConsentForm } from "./Question";
import { t } from "../../strings";

export default function Consent() {
  const session = api.useQuery("get", "/api/v1/session", {}, { staleTime: 0 });
  useEffect(() => {
    document.title = t.oauth.connectAClientMainspring;
    whenSignedOut(() => void queries.resetQueries());
  }, []);
  const refusal: unknown = session.error;
  const unknown = refusal instanceof Problem && refusal.status === 401;
  if (unknown) {
    return (
      <Frame>
        <SignInFirst onIn={() => queries.resetQueries()} />
      </Frame>
    );
  }
  if (session.data) {
    setCsrf(session.data.csrf_token);
    // The answer itself names its workspace.
    setWorkspace(null);
    return (
      <Frame>
        <ConsentRequest who={session.data} />
      </Frame>
    );
  }
  return (
    <Frame>
      {refusal
        ? <ExpiredNote problem={refusal} again={() => void session.refetch()} />
        : <Waiting />}
    </Frame>
  );
}

/**
 * Sign-in happens on this screen: at another URL the window would lose the client that opened it.
 *
 * A sign-in link opens in another tab, which shows this request too.
 */
function SignInFirst({ onIn }: { onIn: () => Promise<void> }) {
  useEffect(storeDestination, []);
  const arrived = async () => {
    readDestination();
    await onIn();
  };
  return <PasswordForm text={t.oauth.aClientAsksForAccess} onIn={arrived} />;
}

function ConsentRequest({ who }: { who: Session }) {
  const { requestId } = useParams({ strict: false }) as { requestId: string };
  const query = api.useQuery("get", "/api/v1/oauth/requests/{request_id}", {
    params: { path: { request_id: requestId } },
  }, { staleTime: Infinity, refetchOnWindowFocus: false });
  // After a choice of workspace or a retry, consent is not skipped.
  const [chosen, setChosen] = useState(false);
  const refusal: unknown = query.error;
  if (!query.data) {
    return refusal
      ? <ExpiredNote problem={refusal} again={() => void query.refetch()} />
      : <Waiting />;
  }
  return (
    <ConsentForm
      key={query.data.workspace.id}
      requestId={requestId}
      request={query.data}
      who={who}
      passes={query.data.passes && !chosen}
      again={() => {
        setChosen(true);
        return query.refetch();
      }}
    />
  );
}

function ExpiredNote({ problem, again }: { problem: unknown; again: () => void }) {
  const over = problem instanceof Problem && problem.status === 410;
  return (
    <Stack>
      <Title order={1} size="h3">
        {over ? t.oauth.thisRequestHasEnded : t.oauth.theRequestCannotBeShown}
      </Title>
      <ProblemNote problem={problem} again={over ? undefined : again} />
      <Text size="sm">
        <Anchor href="/connect">{t.oauth.showConnectedClients}</Anchor>
      </Text>
    </Stack>
  );
}

function Waiting() {
  return (
    <Stack align="center" gap="sm" py="lg">
      <Title order={1} size="h4">{t.oauth.oneMoment}</Title>
      <Loader size="sm" aria-label={t.oauth.loading} />
      <SlowNote />
    </Stack>
  );
}

function Frame({ children }: { children: ReactNode }) {
  return (
    <Center mih="100dvh" p="md" component="main">
      <Stack w="100%" maw={560} gap="lg" py="md">
        <Group gap="sm" justify="center">
          <Mark size={30} />
          <Text fw={650} fz="lg">{t.oauth.mainspring}</Text>
        </Group>
        <Card withBorder radius="lg" p={{ base: "lg", xs: "xl" }} shadow="sm">
          {children}
        </Card>
      </Stack>
    </Center>
  );
}
