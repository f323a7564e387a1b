// A session that ended while somebody works: they sign in over the screen that they are at, and
// what they have written stays where it is.

import { Anchor, Group, Modal } from "@mantine/core";
import { useEffect } from "react";
import { client, queries, refresh, setCsrf } from "../api/client";
import type { Who } from "../api/session";
import { forgetAll } from "../kit/keeping";
import { PasswordForm } from "../screens/sign-in/PasswordForm";
import { goAndSignIn } from "./wanted";

type Props = { who: Who; onBack: () => void };

const WORDS = "Your session is over. Sign in to go on where you are; what you have written stays.";

export default function SignedOut({ who, onBack }: Props) {
  const back = async (now: Who) => {
    setCsrf(now.csrf_token);
    // Somebody else sees nothing of what stands here.
    if (now.user.id !== who.user.id) {
      forgetAll();
      return location.reload();
    }
    if (now.workspace.id !== who.workspace.id) {
      const body = { workspace_id: who.workspace.id };
      const { data } = await client.POST("/api/v1/session/workspace", { body });
      setCsrf(data?.csrf_token);
    }
    // Who is here is known again before this is over.
    await refresh("/api/v1/session");
    onBack();
    await queries.invalidateQueries();
  };
  // By a link they sign in in another tab, and come back to this one.
  useEffect(() => {
    const look = () =>
      void client.GET("/api/v1/session").then(({ data }) => data && back(data), () => {});
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  });
  return (
    <Modal
      opened
      onClose={() => {}}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title="You were signed out"
      centered
    >
      <PasswordForm email={knownEmail(who)} words={WORDS} onIn={back} within />
      <Group mt="md" gap="md">
        <Anchor size="sm" href="/sign-in" target="_blank">Sign in in another tab</Anchor>
        <Anchor component="button" type="button" size="sm" onClick={goAndSignIn}>
          Leave this screen
        </Anchor>
      </Group>
    </Modal>
  );
}

const knownEmail = ({ user }: Who) => (user.email.endsWith("@localhost") ? "" : user.email);
