// After a sign-in by link: set a name and password for the next time.

import { Anchor, Button, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { client } from "../../api/client";
import { isUnnamed, type Session } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { useSubmit } from "../../kit/formErrors";

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
        <Title order={1} size="h3">{fresh ? "Welcome" : `Welcome, ${name || email}`}</Title>
        <Text size="sm">
          You are signed in. Choose a password, so that you can come back without a link.
        </Text>
        {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
        <TextInput
          label="Your name"
          description="Others see it beside what you do."
          autoComplete="name"
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={refusal.at("name")}
          autoFocus
        />
        <TextInput
          label="Email"
          type="email"
          autoComplete="username"
          required
          maxLength={254}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={refusal.at("email")}
        />
        <PasswordInput
          label="Password"
          description="At least 12 characters. A few words in a row do well."
          autoComplete="new-password"
          required
          minLength={12}
          maxLength={1024}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={refusal.at("password")}
        />
        <Button type="submit" loading={busy}>Save and go on</Button>
        <Anchor component="button" type="button" size="sm" onClick={onDone}>Later</Anchor>
      </Stack>
    </form>
  );
}
