// After a sign-in by link: set a name and password for the next time.

import { Anchor, Button, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { client } from "../../api/client";
import { isUnnamed, type Session } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { useSubmit } from "../../kit/formErrors";
import { t } from "../../strings";

export function SetUp({ who, onDone }: { who: Session; onDone: () => void }) {
  const fresh = isUnnamed(who.user);
  const [name, setName] = useState(fresh ? "" : who.user.name);
  const [email, setEmail] = useState(fresh ? "" : who.user.email);
  const [password, setPassword] = useState("");
  const { busy, refusal, send } = useSubmit("name", "email", "password");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(async () => {
      const about = name.trim() ? { email, name: name.trim() } : { email };
      await client.PATCH("/api/v1/me", { body: about });
      await client.POST("/api/v1/me/password", { body: { password } });
      onDone();
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Title order={1} size="h3">
          {fresh ? t.signIn.welcome : t.signIn.welcome2(name || email)}
        </Title>
        <Text size="sm">{t.signIn.youAreSignedInChoose}</Text>
        {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
        <TextInput
          label={t.signIn.yourName}
          description={t.signIn.shownToOthersNextTo}
          autoComplete="name"
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={refusal.at("name")}
          autoFocus
        />
        <TextInput
          label={t.signIn.email}
          type="email"
          autoComplete="username"
          required
          maxLength={254}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={refusal.at("email")}
        />
        <PasswordInput
          label={t.signIn.password}
          description={t.signIn.atLeast12CharactersA}
          autoComplete="new-password"
          required
          minLength={12}
          maxLength={1024}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={refusal.at("password")}
        />
        <Button type="submit" loading={busy}>{t.signIn.saveAndContinue}</Button>
        <Anchor component="button" type="button" size="sm" onClick={onDone}>
          {t.signIn.later}
        </Anchor>
      </Stack>
    </form>
  );
}
