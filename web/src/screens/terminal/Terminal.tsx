// The device sign-in of `mainspring login`: the signed-in user enters the code, sees which terminal
// asked, and confirms or denies.

import { Alert, Anchor, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { client, refresh, type Schemas } from "../../api/client";
import { useSession } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { PageHead } from "../../kit/PageHead";
import { useSubmit } from "../../kit/formErrors";
import { escapeInvisible, formatDateTime } from "../../kit/format";
import { Section } from "../settings/Section";
import { t } from "../../strings";

type Look = Schemas["TerminalLook"];

export default function Terminal() {
  const who = useSession();
  const [code, setCode] = useState("");
  const [shown, setShown] = useState<Look | null>(null);
  const [done, setDone] = useState<"confirmed" | "declined" | null>(null);
  const { busy, refusal, send } = useSubmit("code");
  const look = (event: FormEvent) => {
    event.preventDefault();
    void send(async () => {
      const { data } = await client.POST("/api/v1/session/terminal/look", { body: { code } });
      setShown(data!);
    });
  };
  const answer = (confirm: boolean) =>
    void send(async () => {
      await client.POST("/api/v1/session/terminal/answer", { body: { code, confirm } });
      setDone(confirm ? "confirmed" : "declined");
      await refresh("/api/v1/sessions");
    });
  return (
    <>
      <PageHead title={t.terminal.signInATerminal} />
      <Section
        title="mainspring login"
        description={t.terminal.theTerminalActsAsYou(who.workspace.name)}
      >
        {done
          ? (
            <Alert color={done === "confirmed" ? "green" : "gray"}>
              {done === "confirmed"
                ? (
                  <>
                    {t.terminal.theTerminalIsSignedIn(
                      <Anchor component={Link} to="/settings/sessions" inherit underline="always">
                        {t.terminal.inTheSettings}
                      </Anchor>,
                    )}
                  </>
                )
                : t.terminal.theTerminalWasDeclinedIt}
            </Alert>
          )
          : (
            <form onSubmit={look}>
              <Stack>
                {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
                <TextInput
                  label={t.terminal.codeShownInTheTerminal}
                  placeholder="BCDF-GHJK"
                  required
                  autoComplete="off"
                  maxLength={40}
                  value={code}
                  onChange={(event) => {
                    setCode(event.currentTarget.value);
                    setShown(null);
                  }}
                  error={refusal.at("code")}
                />
                {shown
                  ? (
                    <>
                      <Text size="sm">
                        {t.terminal.requestedFromAt(
                          escapeInvisible(shown.label || t.terminal.aTerminal),
                          shown.address,
                          formatDateTime(shown.created_at),
                        )}
                      </Text>
                      <Group>
                        <Button loading={busy} onClick={() => answer(true)}>
                          {t.terminal.signInThisTerminal}
                        </Button>
                        <Button variant="default" disabled={busy} onClick={() => answer(false)}>
                          {t.terminal.decline}
                        </Button>
                      </Group>
                    </>
                  )
                  : (
                    <Group>
                      <Button type="submit" loading={busy}>{t.terminal.next}</Button>
                    </Group>
                  )}
              </Stack>
            </form>
          )}
      </Section>
    </>
  );
}
