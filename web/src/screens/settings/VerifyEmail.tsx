// Verifying an email address with a code.

import { Alert, Button, Group, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { isUnnamed, useSession } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { notifyDone } from "../../kit/useAction";
import { useSubmit } from "../../kit/formErrors";

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
      notifyDone(`A code was mailed to ${email}.`);
      await refresh("/api/v1/session");
    }
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await send(() => client.POST("/api/v1/me/email/verify", { body: { code } }))) {
      setCode("");
      notifyDone(`${email} is verified.`);
      await refresh("/api/v1/session", "/api/v1/members");
    }
  };
  return (
    <Alert color="yellow" variant="light" title={`${email} is not verified`} mb="md">
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          {consequence(user)}
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <TextInput
            label="Code from the mail"
            autoComplete="one-time-code"
            maxLength={40}
            required
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            error={refusal.at("code")}
          />
          <Group>
            <Button type="submit" loading={busy}>Verify</Button>
            <Button variant="default" loading={busy} onClick={() => void mail()}>
              Mail a code
            </Button>
          </Group>
        </Stack>
      </form>
    </Alert>
  );
}

function consequence(user: ReturnType<typeof useSession>["user"]): string {
  if (user.pending_email && user.pending_email !== user.email) {
    return `Until you verify it, ${user.email} stays in force.`;
  }
  if (user.email_state === "pre_existing") {
    return "It was set before addresses were verified. It still gets mail; verify it once.";
  }
  return "Your automations send no mail to it before you verify it.";
}
