// A form that anyone with its link can fill in: pages of fields, and what is shown after sending.

import "./hosted.css";
import {
  Alert,
  Anchor,
  Box,
  Button,
  Card,
  Container,
  Group,
  Loader,
  Stack,
  Text,
  Title,
} from "@mantine/core";
import { CircleAlert, CircleCheck } from "lucide-react";
import { type FormEvent, useEffect, useMemo, useRef, useState } from "react";
import { SchemaForm } from "../form/SchemaForm";
import type { Finding, Json } from "../form/values";
import { storeDestination } from "../shell/signInRedirect";
import { t } from "../strings";
import { Answer } from "./Answer";
import { FileField } from "./FileField";
import {
  type Form,
  initialValues,
  isSafeRedirect,
  loadForm,
  pageOfFindings,
  type Receipt,
  Refusal,
  schemaOfPage,
  sendForm,
} from "./submission";

const NONE: Finding[] = [];

/** Paragraphs of plain text. */
function Paragraphs({ text }: { text: string }) {
  return (
    <Stack gap="xs">
      {text.split(/\n\s*\n/).filter((one) => one.trim()).map((one, at) => (
        <Text key={at} className="paragraph">{one.trim()}</Text>
      ))}
    </Stack>
  );
}

export function HostedForm({ link }: { link: string }) {
  const [form, setForm] = useState<Form | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  useEffect(() => {
    loadForm(link).then(setForm, setProblem);
  }, [link]);
  useEffect(() => {
    document.title = form?.title ?? t.hosted.form;
  }, [form]);
  return (
    <Container component="main" size="sm" py="xl" px="md">
      {form
        ? form.open ? <FilledIn link={link} first={form} /> : <Closed form={form} />
        : problem
        ? <Unavailable problem={problem} />
        : (
          <Group justify="center">
            <Loader aria-label={t.hosted.loading} />
          </Group>
        )}
    </Container>
  );
}

function Closed({ form }: { form: Form }) {
  return (
    <Stack>
      <Title order={1} size="h2" className="wrap-anywhere">{form.title}</Title>
      <Alert color="gray" icon={<CircleAlert size={18} />}>{t.hosted.closed}</Alert>
    </Stack>
  );
}

function Unavailable({ problem }: { problem: unknown }) {
  const code = problem instanceof Refusal ? problem.code : "";
  const signIn = problem instanceof Refusal && problem.status === 401;
  return (
    <Stack>
      <Title order={1} size="h2">{signIn ? t.hosted.membersOnly : t.hosted.notHere}</Title>
      <Text>{textOf(problem)}</Text>
      {signIn
        ? (
          <Anchor href="/sign-in" onClick={storeDestination} underline="always">
            {t.hosted.signIn}
          </Anchor>
        )
        : code === "no_form"
        ? null
        : (
          <Group>
            <Button variant="default" onClick={() => location.reload()}>{t.hosted.reload}</Button>
          </Group>
        )}
    </Stack>
  );
}

const MESSAGES: Record<string, () => string> = {
  no_form: () => t.hosted.noForm,
  form_for_members: () => t.hosted.forMembers,
  form_closed: () => t.hosted.closed,
  form_too_fast: () => t.hosted.tooFast,
  form_expired: () => t.hosted.expired,
  form_sent: () => t.hosted.alreadySent,
  form_invalid: () => t.hosted.checkTheFields,
  too_many_submissions: () => t.hosted.tooOften,
  body_too_large: () => t.hosted.tooLarge,
};

function textOf(problem: unknown): string {
  if (!(problem instanceof Refusal)) return t.hosted.noConnection;
  const known = MESSAGES[problem.code];
  return known ? known() : [problem.detail, problem.suggestion].filter(Boolean).join(" ");
}

function FilledIn({ link, first }: { link: string; first: Form }) {
  const [form, setForm] = useState(first);
  const [values, setValues] = useState<unknown>(() => initialValues(first.schema));
  const [files, setFiles] = useState<Record<string, File>>({});
  const [place, setPlace] = useState(0);
  const [problem, setProblem] = useState<unknown>(null);
  const [sending, setSending] = useState(false);
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const website = useRef<HTMLInputElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const alert = useRef<HTMLDivElement>(null);
  const page = form.pages[place]!;
  const isLast = place === form.pages.length - 1;
  const schema = useMemo(() => schemaOfPage(form, page), [form, page]);
  const findings = problem instanceof Refusal ? problem.findings : NONE;
  const shown = useMemo(
    () =>
      Object.fromEntries(
        Object.entries(values as Json).filter(([name]) => name in (schema.properties ?? {})),
      ),
    [values, schema],
  );
  const mounted = useRef(false);
  useEffect(() => {
    if (mounted.current) heading.current?.focus();
    mounted.current = true;
  }, [place, receipt]);
  useEffect(() => {
    if (problem) alert.current?.focus();
  }, [problem]);
  const change = (next: unknown) => {
    setValues((before: unknown) => {
      const rest = Object.fromEntries(
        Object.entries(before as Json).filter(([name]) => !(name in (schema.properties ?? {}))),
      );
      return { ...rest, ...(next as Json) };
    });
  };
  const missing = page.fields.filter((name) =>
    name in form.files && !(name in files) &&
    ((form.schema.required ?? []) as string[]).includes(name)
  );
  const send = async () => {
    setSending(true);
    try {
      const made = await sendForm(link, form, values as Json, website.current?.value ?? "", files);
      if (isSafeRedirect(made.redirect)) location.assign(made.redirect);
      setProblem(null);
      setReceipt(made);
    } catch (refused) {
      setProblem(refused);
      if (refused instanceof Refusal) {
        const at = pageOfFindings(form.pages, refused.findings);
        if (at >= 0) setPlace(at);
        // The input is kept; the next attempt needs a new token.
        if (["form_expired", "form_sent"].includes(refused.code)) {
          loadForm(link).then(setForm, () => {});
        }
      }
    } finally {
      setSending(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (sending) return;
    if (missing.length) {
      setProblem(
        new Refusal(
          422,
          "form_invalid",
          "",
          null,
          missing.map((name) => ({
            pointer: `/${name}`,
            detail: t.hosted.chooseAFile,
            level: "error" as const,
          })),
          null,
        ),
      );
      return;
    }
    if (isLast) void send();
    else {
      setProblem(null);
      setPlace(place + 1);
    }
  };
  if (receipt) return <Sent form={form} receipt={receipt} heading={heading} />;
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="lg">
        <Title order={1} size="h2" ref={heading} tabIndex={-1} className="wrap-anywhere unlit">
          {form.title}
        </Title>
        {place === 0 && form.text ? <Paragraphs text={form.text} /> : null}
        {form.pages.length > 1
          ? <Text size="sm" c="dimmed">{t.hosted.pageOf(place + 1, form.pages.length)}</Text>
          : null}
        <Card withBorder radius="lg" p="lg">
          <Stack gap="md">
            {page.title ? <Title order={2} size="h4">{page.title}</Title> : null}
            {page.text ? <Paragraphs text={page.text} /> : null}
            {Object.keys(schema.properties ?? {}).length
              ? (
                <SchemaForm
                  key={place}
                  schema={schema}
                  value={shown}
                  onChange={change}
                  findings={findings}
                />
              )
              : null}
            {page.fields.filter((name) => name in form.files).map((name) => (
              <FileField
                key={name}
                name={name}
                schema={form.schema.properties?.[name] ?? {}}
                rule={form.files[name]!}
                required={((form.schema.required ?? []) as string[]).includes(name)}
                file={files[name] ?? null}
                findings={findings.filter(({ pointer }) => pointer.split("/")[1] === name)}
                onChange={(file) =>
                  setFiles(({ [name]: _, ...rest }) => file ? { ...rest, [name]: file } : rest)}
              />
            ))}
          </Stack>
        </Card>
        <div className="honeypot" aria-hidden="true">
          <label>
            {t.hosted.leaveEmpty}
            <input ref={website} type="text" name="website" tabIndex={-1} autoComplete="off" />
          </label>
        </div>
        <Box ref={alert} tabIndex={-1} className="unlit">
          {problem
            ? <Alert color="red" icon={<CircleAlert size={18} />}>{textOf(problem)}</Alert>
            : null}
        </Box>
        <Group>
          {place > 0
            ? (
              <Button variant="default" size="md" onClick={() => setPlace(place - 1)}>
                {t.hosted.back}
              </Button>
            )
            : null}
          <Button type="submit" size="md" loading={sending}>
            {isLast ? form.submit ?? t.hosted.send : t.hosted.next}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type SentProps = {
  form: Form;
  receipt: Receipt;
  heading: React.RefObject<HTMLHeadingElement | null>;
};

function Sent({ form, receipt, heading }: SentProps) {
  return (
    <Stack>
      <Title order={1} size="h2" ref={heading} tabIndex={-1} className="wrap-anywhere unlit">
        {form.title}
      </Title>
      <Group gap="xs" wrap="nowrap" align="flex-start" role="status">
        <CircleCheck size={22} aria-hidden color="var(--good)" style={{ flex: "none" }} />
        {isSafeRedirect(receipt.redirect)
          ? (
            <Anchor href={receipt.redirect} underline="always" className="wrap-anywhere">
              {t.hosted.continueTo(receipt.redirect)}
            </Anchor>
          )
          : <Paragraphs text={receipt.thank_you ?? t.hosted.thankYou} />}
      </Group>
      {receipt.answer ? <Answer answer={receipt.answer} /> : null}
    </Stack>
  );
}
