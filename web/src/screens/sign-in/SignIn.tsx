// Sign-in by password, or by a link that is described before it is consumed.

import { Box, Card, Center, Group, Loader, Stack, Text, Title } from "@mantine/core";
import { useCallback, useEffect, useState } from "react";
import { client, setCsrf } from "../../api/client";
import { Problem } from "../../api/problem";
import type { Session } from "../../api/session";
import { setOwner } from "../../kit/unsentInput";
import { Mark } from "../../shell/Mark";
import { readDestination } from "../../shell/signInRedirect";
import { type Link, takeToken } from "./links";
import { LinkOffer } from "./LinkOffer";
import { PasswordForm } from "./PasswordForm";
import { SetUp } from "./SetUp";
import { t } from "../../strings";

type State =
  | { kind: "looking" }
  | { kind: "password"; problem?: unknown; email?: string; text?: string }
  | { kind: "link"; link: Link; who: Session | null }
  | { kind: "set-up"; who: Session };

async function fetchSession(): Promise<Session | null> {
  try {
    const { data } = await client.GET("/api/v1/session");
    setCsrf(data?.csrf_token);
    return data ?? null;
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 401) return null;
    throw problem;
  }
}

// A full page load: nothing of the previous session remains.
const goOn = () => location.replace(readDestination());

// React runs effects twice in development; the token is in the URL once.
let given: string | null = null;
const tokenOfTab = () => given ??= takeToken();

export default function SignIn() {
  const [token, setToken] = useState(tokenOfTab);
  const [state, setState] = useState<State>({ kind: "looking" });
  useEffect(() => {
    document.title = t.signIn.signInMainspring;
    // Pasting a link into this page's URL would not reload it.
    const again = () => location.reload();
    addEventListener("hashchange", again);
    return () => removeEventListener("hashchange", again);
  }, []);
  const finish = useCallback((who: Session) => {
    setCsrf(who.csrf_token);
    setOwner(who);
    if (who.user.has_password) goOn();
    else setState({ kind: "set-up", who });
  }, []);
  useEffect(() => {
    let gone = false;
    void finishSignIn(token).then((found) => {
      if (!gone) setState(found);
    });
    return () => {
      gone = true;
    };
    // Only the URL at page load is read.
  }, []);
  const useLink = async () => {
    const { data } = await client.POST("/api/v1/session/link", { body: { token } });
    setToken("");
    finish(data!);
  };
  return (
    <Center mih="100dvh" p="md" component="main">
      <Stack w="100%" maw={440} gap="xl">
        <Group gap="sm" justify="center">
          <Mark size={34} />
          <Text fw={650} fz="xl">{t.signIn.mainspring}</Text>
        </Group>
        <Card withBorder radius="lg" p={{ base: "lg", xs: "xl" }} shadow="sm">
          {state.kind === "looking" ? <Waiting /> : null}
          {state.kind === "password"
            ? (
              <PasswordForm
                problem={state.problem}
                email={state.email}
                text={state.text}
                onIn={token ? useLink : finish}
              />
            )
            : null}
          {state.kind === "link"
            ? (
              <LinkOffer
                link={state.link}
                who={state.who}
                onUse={useLink}
                onSignInFirst={(text) =>
                  setState({ kind: "password", email: state.link.email, text })}
              />
            )
            : null}
          {state.kind === "set-up" ? <SetUp who={state.who} onDone={goOn} /> : null}
        </Card>
      </Stack>
    </Center>
  );
}

async function finishSignIn(token: string): Promise<State> {
  try {
    if (!token) {
      // A signed-in user is redirected.
      const who = await fetchSession().catch(() => null);
      if (who) goOn();
      return who ? { kind: "looking" } : { kind: "password" };
    }
    const [looked, who] = await Promise.all([
      client.POST("/api/v1/session/link/look", { body: { token } }),
      fetchSession(),
    ]);
    return { kind: "link", link: looked.data!, who };
  } catch (problem) {
    return { kind: "password", problem };
  }
}

function Waiting() {
  return (
    <Box py="lg">
      <Stack align="center" gap="sm">
        <Title order={1} size="h4">{t.signIn.oneMoment}</Title>
        <Loader size="sm" aria-label={t.signIn.loading} />
      </Stack>
    </Box>
  );
}
