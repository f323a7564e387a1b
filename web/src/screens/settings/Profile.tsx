// The profile: name, email, password and appearance.

import {
  Button,
  Group,
  PasswordInput,
  SegmentedControl,
  Stack,
  TextInput,
  useMantineColorScheme,
} from "@mantine/core";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { isUnnamed, useSession } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { notifyDone, notifyHint } from "../../kit/useAction";
import { useSubmit } from "../../kit/formErrors";
import { SlackLink } from "../integrations/SlackLink";
import { PushSettings } from "./PushSettings";
import { Section, Sections } from "./Section";
import { VerifyEmail } from "./VerifyEmail";

export function Profile() {
  return (
    <Sections>
      <NameForm />
      <EmailForm />
      <PasswordForm />
      <Section title="Slack" description="Decide in Slack what waits for you.">
        <SlackLink />
      </Section>
      <PushSettings />
      <Appearance />
    </Sections>
  );
}

function NameForm() {
  const { user } = useSession();
  const [name, setName] = useState(isUnnamed(user) ? "" : user.name);
  const { busy, refusal, send } = useSubmit("name");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const done = await send(() => client.PATCH("/api/v1/me", { body: { name: name.trim() } }));
    if (done) {
      notifyDone("Your name was saved.");
      await refresh("/api/v1/session", "/api/v1/members");
    }
  };
  return (
    <Section title="Your name" description="Others see it beside what you do.">
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <TextInput
            label="Name"
            autoComplete="name"
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={refusal.at("name")}
          />
          <Group>
            <Button type="submit" variant="default" loading={busy}>Save name</Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function EmailForm() {
  const { user } = useSession();
  const [email, setEmail] = useState(isUnnamed(user) ? "" : user.email);
  const [password, setPassword] = useState("");
  const { busy, refusal, send } = useSubmit("email", "current_password");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const proof = user.has_password ? { current_password: password } : {};
    await send(async () => {
      const { data } = await client.PATCH("/api/v1/me", { body: { email, ...proof } });
      setPassword("");
      if (data?.email_note) notifyHint(data.email_note);
      else if (data?.pending_email) notifyHint(`A code was mailed to ${data.pending_email}.`);
      else notifyDone("Your email was saved.");
      await refresh("/api/v1/session", "/api/v1/members");
    });
  };
  return (
    <Section
      title="Email"
      description="You sign in with it. Once verified, it gets the mail that your automations send to you."
    >
      <VerifyEmail />
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
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
          {user.has_password && email !== user.email
            ? (
              <PasswordInput
                label="Your password"
                description="So that nobody else changes it for you."
                autoComplete="current-password"
                required
                value={password}
                onChange={(event) => setPassword(event.currentTarget.value)}
                error={refusal.at("current_password")}
              />
            )
            : null}
          <Group>
            <Button
              type="submit"
              variant="default"
              loading={busy}
              disabled={email === user.email}
            >
              Save email
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function PasswordForm() {
  const { user } = useSession();
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const { busy, refusal, send } = useSubmit("current_password", "password");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const proof = user.has_password ? { current_password: current } : {};
    const done = await send(() =>
      client.POST("/api/v1/me/password", { body: { password, ...proof } })
    );
    if (done) {
      setCurrent("");
      setPassword("");
      notifyDone("Your password was changed. You stay signed in here and nowhere else.");
      await refresh("/api/v1/session", "/api/v1/sessions", "/api/v1/tokens");
    }
  };
  return (
    <Section
      title="Password"
      description="A new one ends every other session and every token of yours."
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          {user.has_password
            ? (
              <PasswordInput
                label="The one you have"
                autoComplete="current-password"
                required
                maxLength={1024}
                value={current}
                onChange={(event) => setCurrent(event.currentTarget.value)}
                error={refusal.at("current_password")}
              />
            )
            : null}
          <PasswordInput
            label="A new one"
            description="At least 12 characters. A few words in a row do well."
            autoComplete="new-password"
            required
            minLength={12}
            maxLength={1024}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            error={refusal.at("password")}
          />
          <Group>
            <Button type="submit" variant="default" loading={busy}>
              {user.has_password ? "Change password" : "Set password"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Section title="Appearance" description="Kept by this browser.">
      <SegmentedControl
        aria-label="Appearance"
        value={colorScheme}
        onChange={(value) => setColorScheme(value as "light" | "dark" | "auto")}
        data={[
          { value: "light", label: "Light" },
          { value: "dark", label: "Dark" },
          { value: "auto", label: "As the system" },
        ]}
      />
    </Section>
  );
}
