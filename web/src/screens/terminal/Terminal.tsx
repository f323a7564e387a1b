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
      <PageHead title="Sign a terminal in" />
      <Section
        title="mainspring login"
        description={`The terminal will act as you in ${who.workspace.name}. Confirm only a code that you see on your own terminal.`}
      >
        {done
          ? (
            <Alert color={done === "confirmed" ? "green" : "gray"}>
              {done === "confirmed"
                ? (
                  <>
                    The terminal is signed in. You can end its session{" "}
                    <Anchor component={Link} to="/settings/sessions" inherit underline="always">
                      in the settings
                    </Anchor>
                    .
                  </>
                )
                : "The terminal was declined. It has no access."}
            </Alert>
          )
          : (
            <form onSubmit={look}>
              <Stack>
                {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
                <TextInput
                  label="The code on the terminal"
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
                        {escapeInvisible(shown.label || "A terminal")} asked from {shown.address} at
                        {" "}
                        {formatDateTime(shown.created_at)}.
                      </Text>
                      <Group>
                        <Button loading={busy} onClick={() => answer(true)}>
                          Sign this terminal in
                        </Button>
                        <Button variant="default" disabled={busy} onClick={() => answer(false)}>
                          Decline
                        </Button>
                      </Group>
                    </>
                  )
                  : (
                    <Group>
                      <Button type="submit" loading={busy}>Next</Button>
                    </Group>
                  )}
              </Stack>
            </form>
          )}
      </Section>
    </>
  );
}
