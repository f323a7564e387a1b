// A session that expired during work: the user signs in over the current screen, and unsent input
// is kept.

import { Anchor, Group, Modal } from "@mantine/core";
import { useEffect } from "react";
import { client, queries, refresh, setCsrf } from "../api/client";
import type { Session } from "../api/session";
import { clearAll } from "../kit/unsentInput";
import { PasswordForm } from "../screens/sign-in/PasswordForm";
import { redirectToSignIn } from "./signInRedirect";
import { t } from "../strings";

type Props = { who: Session; onBack: () => void };

const WORDS = t.shell.yourSessionExpiredSignIn;

export default function SignedOut({ who, onBack }: Props) {
  const back = async (now: Session) => {
    setCsrf(now.csrf_token);
    // Another user must not see the content of this screen.
    if (now.user.id !== who.user.id) {
      clearAll();
      return location.reload();
    }
    if (now.workspace.id !== who.workspace.id) {
      const body = { workspace_id: who.workspace.id };
      const { data } = await client.POST("/api/v1/session/workspace", { body });
      setCsrf(data?.csrf_token);
    }
    // The session is reloaded before this closes.
    await refresh("/api/v1/session");
    onBack();
    await queries.invalidateQueries();
  };
  // A sign-in link opens another tab, and the user returns to this one.
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
      title={t.shell.youWereSignedOut}
      centered
    >
      <PasswordForm email={knownEmail(who)} text={WORDS} onIn={back} within />
      <Group mt="md" gap="md">
        <Anchor size="sm" href="/sign-in" target="_blank">{t.shell.signInInAnotherTab}</Anchor>
        <Anchor component="button" type="button" size="sm" onClick={redirectToSignIn}>
          {t.shell.leaveThisScreen}
        </Anchor>
      </Group>
    </Modal>
  );
}

const knownEmail = ({ user }: Session) => (user.email.endsWith("@localhost") ? "" : user.email);
