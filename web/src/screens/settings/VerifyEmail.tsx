// Verifying an email address with a code.

import { Alert, Button, Group, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { isUnnamed, useSession } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { notifyDone } from "../../kit/useAction";
import { useSubmit } from "../../kit/formErrors";
import { t } from "../../strings";

const IN_LINK = /^#verify=([A-Za-z0-9-]{1,40})$/;

/** The code of the mailed link, removed from the URL so that it is in no history. */
function takeCode(): string {
  const code = IN_LINK.exec(location.hash)?.[1] ?? "";
  if (code) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

export function VerifyEmail() {
  const { user } = useSession();
  const [code, setCode] = useState(takeCode);
  const { busy, refusal, send } = useSubmit("code");
  const email = user.pending_email ?? user.email;
  if (isUnnamed(user) && !user.pending_email) return null;
  if (user.email_state === "verified" && !user.pending_email) return null;
  const mail = async () => {
    if (await send(() => client.POST("/api/v1/me/email/code"))) {
      notifyDone(t.settings.weSentACodeTo(email));
      await refresh("/api/v1/session");
    }
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await send(() => client.POST("/api/v1/me/email/verify", { body: { code } }))) {
      setCode("");
      notifyDone(t.settings.isVerified(email));
      await refresh("/api/v1/session", "/api/v1/members");
    }
  };
  return (
    <Alert color="yellow" variant="light" title={t.settings.isNotVerified(email)} mb="md">
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          {consequence(user)}
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <TextInput
            label={t.settings.codeFromTheEmail}
            autoComplete="one-time-code"
            maxLength={40}
            required
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            error={refusal.at("code")}
          />
          <Group>
            <Button type="submit" loading={busy}>{t.settings.verify}</Button>
            <Button variant="default" loading={busy} onClick={() => void mail()}>
              {t.settings.sendCode}
            </Button>
          </Group>
        </Stack>
      </form>
    </Alert>
  );
}

function consequence(user: ReturnType<typeof useSession>["user"]): string {
  if (user.pending_email && user.pending_email !== user.email) {
    return t.settings.untilYouVerifyItStays(user.email);
  }
  if (user.email_state === "pre_existing") {
    return t.settings.itWasSetBeforeVerification;
  }
  return t.settings.yourAutomationsDoNotSend;
}
