// Connecting an account: by OAuth sign-in, or with credentials.

import {
  Button,
  Collapse,
  NumberInput,
  PasswordInput,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { byPointer, Problem } from "../../api/problem";
import { useHasRole } from "../../api/session";
import { notifyDone, useAction } from "../../kit/useAction";
import { ProblemNote } from "../../kit/QueryResult";
import { Part } from "./Part";
import type { Integration } from "./states";
import { t } from "../../strings";

type Field = Integration["fields"][number];
type Value = string | number | boolean;

export function ConnectAccount({ one }: { one: Integration }) {
  const may = useHasRole("editor");
  const [open, setOpen] = useState(false);
  if (one.auth !== "oauth" && one.auth !== "token") {
    return one.state === "ready" ? null : (
      <Part title={t.integrations.setup}>
        <Text size="sm">{one.how}</Text>
      </Part>
    );
  }
  if (!may) {
    return (
      <Part title={t.integrations.connect}>
        <Text size="sm" c="dimmed">{t.integrations.yourRoleCannotConnectAccounts}</Text>
      </Part>
    );
  }
  const ready = one.state === "ready" && one.connection !== null;
  const way = (
    <Stack align="flex-start" gap="sm">
      <Text size="sm">{one.how}</Text>
      {one.auth === "oauth"
        ? <SignIn one={one} />
        : <Fields one={one} done={t.integrations.isConnected(one.label)} />}
    </Stack>
  );
  return (
    <>
      {ready && one.auth === "oauth" && one.fields.length
        ? (
          <Part title={t.integrations.whatToFollow}>
            <Fields one={one} done={t.integrations.saved} text={t.integrations.save} />
          </Part>
        )
        : null}
      <Part title={one.connection ? t.integrations.reconnect2 : t.integrations.connect}>
        {ready
          ? (
            <>
              <Button
                variant="default"
                size="xs"
                onClick={() => setOpen(!open)}
                aria-expanded={open}
              >
                {t.integrations.reconnectOrConnectAnotherAccount}
              </Button>
              <Collapse expanded={open}>
                <Stack pt="md">{way}</Stack>
              </Collapse>
            </>
          )
          : way}
      </Part>
    </>
  );
}

function SignIn({ one }: { one: Integration }) {
  const { busy, act } = useAction();
  const go = () =>
    act(async () => {
      const { data } = await client.POST("/api/v1/integrations/{integration}/sign-in", {
        params: { path: { integration: one.name } },
        body: {},
      });
      // Only http(s) URLs are opened, whatever a manifest says.
      if (!data || !/^https?:\/\//.test(data.sign_in_url)) {
        throw new Error(t.integrations.noSignInAddress);
      }
      location.assign(data.sign_in_url);
    });
  return (
    <Button loading={busy} onClick={() => void go()}>
      {one.connection ? t.integrations.reconnect2 : t.integrations.connect}
    </Button>
  );
}

function Fields({ one, done, text }: { one: Integration; done: string; text?: string }) {
  const held = (one.connection?.settings ?? {}) as Record<string, Value>;
  const [values, setValues] = useState<Record<string, Value>>(() =>
    Object.fromEntries(
      one.fields.map((each) => [each.name, held[each.name] ?? each.default ?? ""]) as [
        string,
        Value,
      ][],
    )
  );
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const errors = problem instanceof Problem ? byPointer(problem.findings) : {};
  // An integration that validates its own settings reports pointers without the outer path.
  const errorAt = (name: string) => errors[`/fields/${name}`] ?? errors[`/${name}`];
  const atFields = one.fields.some((each) => errorAt(each.name));
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await client.POST("/api/v1/integrations/{integration}/connect", {
        params: { path: { integration: one.name } },
        body: { fields: requestBody(one, values) },
      });
      await refresh("/api/v1/integrations");
      notifyDone(done);
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => void submit(event)}
      autoComplete="off"
      aria-label={t.integrations.connect2(one.label)}
      style={{ width: "100%" }}
    >
      <Stack maw={460}>
        {one.fields.map((each) => (
          <Entry
            key={each.name}
            field={each}
            value={values[each.name] ?? ""}
            error={errorAt(each.name)}
            onChange={(value) => setValues((before) => ({ ...before, [each.name]: value }))}
          />
        ))}
        {problem && !atFields ? <ProblemNote problem={problem} /> : null}
        <Button type="submit" loading={busy} w="fit-content">
          {text ?? (one.connection ? t.integrations.reconnect2 : t.integrations.connect)}
        </Button>
      </Stack>
    </form>
  );
}

/**
 * The request body: empty fields are omitted, except where empty means that nothing is followed.
 */
export function requestBody(
  one: Pick<Integration, "auth" | "fields">,
  values: Record<string, Value>,
) {
  const kept: Record<string, Value> = {};
  for (const { name, type } of one.fields) {
    const value = values[name] ?? "";
    if (type === "boolean") kept[name] = value === true;
    else if (value !== "" || (one.auth === "oauth" && type === "string")) kept[name] = value;
  }
  return kept;
}

type EntryProps = { field: Field; value: Value; error?: string; onChange: (value: Value) => void };

function Entry({ field, value, error, onChange }: EntryProps) {
  const shared = {
    label: field.label,
    description: field.help ?? undefined,
    error,
    required: field.required && field.default === null,
  };
  if (field.type === "boolean") {
    return (
      <Switch
        {...shared}
        required={false}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  if (field.type === "integer") {
    return (
      <NumberInput
        {...shared}
        allowDecimal={false}
        value={value as number | string}
        onChange={onChange}
      />
    );
  }
  const Input = field.secret ? PasswordInput : TextInput;
  return (
    <Input
      {...shared}
      autoComplete="off"
      maxLength={8192}
      value={String(value)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
