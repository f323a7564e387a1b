// The door: in by a password, or by a link that says what it is before a press uses it up.

import { Box, Card, Center, Group, Loader, Stack, Text, Title } from "@mantine/core";
import { useCallback, useEffect, useState } from "react";
import { client, setCsrf } from "../../api/client";
import { Problem } from "../../api/problem";
import type { Who } from "../../api/session";
import { keepFor } from "../../kit/keeping";
import { Mark } from "../../shell/Mark";
import { wantedPlace } from "../../shell/wanted";
import { type Link, takeToken } from "./links";
import { LinkOffer } from "./LinkOffer";
import { PasswordForm } from "./PasswordForm";
import { SetUp } from "./SetUp";

type State =
  | { kind: "looking" }
  | { kind: "password"; problem?: unknown; email?: string; words?: string }
  | { kind: "link"; link: Link; who: Who | null }
  | { kind: "set-up"; who: Who };

async function whoIsHere(): Promise<Who | null> {
  try {
    const { data } = await client.GET("/api/v1/session");
    setCsrf(data?.csrf_token);
    return data ?? null;
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 401) return null;
    throw problem;
  }
}

// The whole page is loaded anew: nothing of whoever was here before is left in it.
const goOn = () => location.replace(wantedPlace());

// React looks at everything twice while it is worked on; the token is in the address once.
let given: string | null = null;
const tokenOfTab = () => given ??= takeToken();

export default function SignIn() {
  const [token, setToken] = useState(tokenOfTab);
  const [state, setState] = useState<State>({ kind: "looking" });
  useEffect(() => {
    document.title = "Sign in · Mainspring";
    // A link that is put into the address of this very page would load nothing by itself.
    const again = () => location.reload();
    addEventListener("hashchange", again);
    return () => removeEventListener("hashchange", again);
  }, []);
  const finish = useCallback((who: Who) => {
    setCsrf(who.csrf_token);
    keepFor(who);
    if (who.user.has_password) goOn();
    else setState({ kind: "set-up", who });
  }, []);
  useEffect(() => {
    let gone = false;
    void arrive(token).then((found) => {
      if (!gone) setState(found);
    });
    return () => {
      gone = true;
    };
    // Only what stood in the address when the page was opened is looked at.
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
          <Text fw={650} fz="xl">Mainspring</Text>
        </Group>
        <Card withBorder radius="lg" p={{ base: "lg", xs: "xl" }} shadow="sm">
          {state.kind === "looking" ? <Waiting /> : null}
          {state.kind === "password"
            ? (
              <PasswordForm
                problem={state.problem}
                email={state.email}
                words={state.words}
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
                  setState({ kind: "password", email: state.link.email, words: text })}
              />
            )
            : null}
          {state.kind === "set-up" ? <SetUp who={state.who} onDone={goOn} /> : null}
        </Card>
      </Stack>
    </Center>
  );
}

async function arrive(token: string): Promise<State> {
  try {
    if (!token) {
      // Somebody who is signed in and comes by has nothing to do here.
      const who = await whoIsHere().catch(() => null);
      if (who) goOn();
      return who ? { kind: "looking" } : { kind: "password" };
    }
    const [looked, who] = await Promise.all([
      client.POST("/api/v1/session/link/look", { body: { token } }),
      whoIsHere(),
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
        <Title order={1} size="h4">One moment …</Title>
        <Loader size="sm" aria-label="Loading" />
      </Stack>
    </Box>
  );
}
