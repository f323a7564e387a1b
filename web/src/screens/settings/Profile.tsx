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
import { t } from "../../strings";
import { chooseLanguage, chosenLanguage, type Language, LANGUAGES } from "../../strings/language";

export function Profile() {
  return (
    <Sections>
      <NameForm />
      <EmailForm />
      <PasswordForm />
      <Section title={t.settings.slackTitle} description={t.settings.answerInboxItemsInSlack}>
        <SlackLink />
      </Section>
      <PushSettings />
      <LanguageChoice />
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
      notifyDone(t.settings.yourNameWasSaved);
      await refresh("/api/v1/session", "/api/v1/members");
    }
  };
  return (
    <Section title={t.settings.yourName} description={t.settings.shownToOthersNextTo}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <TextInput
            label={t.settings.name}
            autoComplete="name"
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={refusal.at("name")}
          />
          <Group>
            <Button type="submit" variant="default" loading={busy}>{t.settings.saveName}</Button>
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
      else if (data?.pending_email) notifyHint(t.settings.weSentACodeTo(data.pending_email));
      else notifyDone(t.settings.yourEmailWasSaved);
      await refresh("/api/v1/session", "/api/v1/members");
    });
  };
  return (
    <Section
      title={t.settings.email}
      description={t.settings.youSignInWithIt}
    >
      <VerifyEmail />
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <TextInput
            label={t.settings.email}
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
                label={t.settings.yourPassword}
                description={t.settings.toConfirmThatItIs}
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
              {t.settings.saveEmail}
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
      notifyDone(t.settings.yourPasswordWasChangedAll);
      await refresh("/api/v1/session", "/api/v1/sessions", "/api/v1/tokens");
    }
  };
  return (
    <Section
      title={t.settings.password}
      description={t.settings.aNewPasswordEndsAll}
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          {user.has_password
            ? (
              <PasswordInput
                label={t.settings.currentPassword}
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
            label={t.settings.newPassword}
            description={t.settings.atLeast12CharactersA}
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
              {user.has_password ? t.settings.changePassword : t.settings.setPassword}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function LanguageChoice() {
  return (
    <Section title={t.settings.language} description={t.settings.languageHint}>
      <SegmentedControl
        aria-label={t.settings.language}
        value={chosenLanguage() ?? ""}
        onChange={(value) => chooseLanguage(value ? value as Language : null)}
        data={[
          { value: "", label: t.settings.browserLanguage },
          // Each language by its own name.
          ...Object.entries(LANGUAGES).map(([value, { name }]) => ({ value, label: name })),
        ]}
      />
    </Section>
  );
}

function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Section title={t.settings.appearance} description={t.settings.savedInThisBrowser}>
      <SegmentedControl
        aria-label={t.settings.appearance}
        value={colorScheme}
        onChange={(value) => setColorScheme(value as "light" | "dark" | "auto")}
        data={[
          { value: "light", label: t.settings.light },
          { value: "dark", label: t.settings.dark },
          { value: "auto", label: t.settings.systemDefault },
        ]}
      />
    </Section>
  );
}
