// Sign-in with email and password, with help on getting a link.

import {
  Anchor,
  Button,
  Code,
  Collapse,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, useState } from "react";
import { client, setCsrf } from "../../api/client";
import type { Session } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { useSubmit } from "../../kit/formErrors";
import { t } from "../../strings";

type Props = {
  /** What failed with the link that led here. */
  problem?: unknown;
  email?: string;
  text?: string;
  /** Shown over a screen that has its own heading. */
  within?: boolean;
  onIn: (who: Session) => void | Promise<void>;
};

export function PasswordForm({ problem, email: known = "", text, within, onIn }: Props) {
  const [email, setEmail] = useState(known);
  const [password, setPassword] = useState("");
  const [helped, { toggle }] = useDisclosure(Boolean(problem));
  const { busy, refusal, send } = useSubmit("email", "password");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(async () => {
      const { data } = await client.POST("/api/v1/session", { body: { email, password } });
      setCsrf(data!.csrf_token);
      await onIn(data!);
    });
  };
  const answer = refusal.rest ?? problem;
  return (
    <form onSubmit={submit}>
      <Stack>
        {within ? null : <Title order={1} size="h3">{t.signIn.signIn}</Title>}
        {text ? <Text size="sm">{text}</Text> : null}
        {answer ? <ProblemNote problem={answer} /> : null}
        <TextInput
          label={t.signIn.email}
          type="email"
          autoComplete="username"
          required
          maxLength={254}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={refusal.at("email")}
          autoFocus={!known}
        />
        <PasswordInput
          label={t.signIn.password}
          autoComplete="current-password"
          required
          maxLength={1024}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={refusal.at("password")}
          autoFocus={Boolean(known)}
          data-autofocus={known ? true : undefined}
        />
        <Button type="submit" loading={busy}>{t.signIn.signIn}</Button>
        <Anchor
          component="button"
          type="button"
          size="sm"
          onClick={toggle}
          aria-expanded={helped}
        >
          {t.signIn.noPasswordOrForgotIt}
        </Anchor>
        <Collapse expanded={helped}>
          <Stack gap="xs">
            <Text size="sm">{t.signIn.onTheServerThisCommand}</Text>
            <Code block>./start sign-in</Code>
            <Text size="sm" c="dimmed">
              {t.signIn.runOnTheServerOtherwise(<Code>mainspring sign-in</Code>)}
            </Text>
          </Stack>
        </Collapse>
      </Stack>
    </form>
  );
}
