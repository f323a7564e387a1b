// What an automation, or the tools of a connection, would be able to do beyond what was agreed to:
// one sentence for each addition, and a person's yes or no to exactly these.

import {
  Anchor,
  Badge,
  Button,
  Group,
  List,
  Stack,
  Switch,
  Text,
  ThemeIcon,
  Title,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  Banknote,
  Bot,
  CalendarClock,
  Cpu,
  Globe,
  KeyRound,
  PenLine,
  Send,
  ShieldQuestion,
  UserCheck,
  UserRound,
  Wrench,
} from "lucide-react";
import { useState } from "react";
import { useMay, useWho } from "../../api/session";
import { ProblemNote } from "../../kit/Asked";
import { sayDone } from "../../kit/acting";
import { useConfirm } from "../../kit/Confirm";
import { CopyIcon } from "../../kit/Copy";
import { Moment } from "../../kit/Moment";
import { count, plain, visible } from "../../kit/words";
import { answerConsent, look } from "./answering";
import { useDeeds } from "./deeds";
import type { Consent } from "./items";

const ORIGINS: Record<Consent["origin"], string> = {
  create: "A program has made it.",
  install: "It was installed from a recipe.",
  upgrade: "An upgrade lets it do more than was agreed to.",
  import: "It was imported from a file.",
  edit: "A program has changed it.",
  tools: "The server of these tools has changed them.",
};

const ICONS = {
  grant: Globe,
  secret: KeyRound,
  account: UserRound,
  spend: Banknote,
  start: CalendarClock,
  write_policy: PenLine,
  approval: UserCheck,
  send: Send,
  model: Cpu,
  tool: Wrench,
  review: ShieldQuestion,
} as const;

type Props = { consent: Consent; onAnswered: () => void };

export function ConsentPane(props: Props) {
  const { consent } = props;
  const before = consent.agreed_version
    ? `Version ${consent.agreed_version} was agreed to; this is version ${consent.version}.`
    : "Nothing of it was agreed to before.";
  return (
    <Stack gap="md">
      <Group gap="xs">
        <Title order={2} size="h4" className="wrap-anywhere">
          {visible(consent.name ?? "An automation")} waits for your consent
        </Title>
        <Badge variant="light" color="yellow" tt="none" radius="sm">
          {count(consent.additions.length, "addition")}
        </Badge>
      </Group>
      <Text size="sm" c="dimmed">
        {ORIGINS[consent.origin]} {consent.automation_id ? before : ""}{" "}
        It starts nothing until a person has answered. Asked <Moment at={consent.asked_at} />.
      </Text>
      <List
        spacing="sm"
        listStyleType="none"
        center={false}
        aria-label="What it may do beyond that"
      >
        {consent.additions.map((one) => {
          const Icon = ICONS[one.kind] ?? Bot;
          return (
            <List.Item
              key={one.pointer + one.says}
              icon={
                <ThemeIcon variant="light" size={26} radius="xl">
                  <Icon size={14} aria-hidden />
                </ThemeIcon>
              }
            >
              <Text size="sm" className="wrap-anywhere">{visible(one.says)}</Text>
              <Text size="xs" c="dimmed" className="wrap-anywhere">
                {plain(one.kind)}
                {one.pointer
                  ? (
                    <>
                      , at <span className="mono">{one.pointer}</span>
                    </>
                  )
                  : null}
              </Text>
            </List.Item>
          );
        })}
      </List>
      <Ways consent={consent} />
      <ConsentAnswers key={consent.digest} {...props} />
    </Stack>
  );
}

function Ways({ consent }: { consent: Consent }) {
  return (
    <Group gap="lg">
      {consent.automation_id
        ? (
          <>
            <Anchor
              component={Link}
              to={`/automations/${consent.automation_id}/versions`}
              size="sm"
            >
              See the difference
            </Anchor>
            <Anchor
              component={Link}
              to={`/automations/${consent.automation_id}`}
              size="sm"
            >
              The automation
            </Anchor>
          </>
        )
        : <Anchor component={Link} to="/integrations" size="sm">The connection</Anchor>}
      <Group gap={4}>
        <Text size="xs" c="dimmed">
          Digest <span className="mono">{consent.digest.slice(0, 12)}</span>
        </Text>
        <CopyIcon text={consent.digest} label="Copy the digest" />
      </Group>
    </Group>
  );
}

function ConsentAnswers({ consent, onAnswered }: Props) {
  const ask = useConfirm();
  const who = useWho();
  const needed = consent.automation_id ? "editor" : "admin";
  const may = useMay(needed);
  const [activate, setActivate] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const answer = async (agree: boolean) => {
    const words = agree
      ? (
        <List size="sm">
          {consent.additions.map((one) => (
            <List.Item key={one.pointer + one.says}>{visible(one.says)}</List.Item>
          ))}
        </List>
      )
      : "It stays paused. You can bring an earlier version back, or agree later after all.";
    const title = agree ? "Do you agree to this?" : "Refuse this?";
    if (!await ask({ title, words, yes: agree ? "I agree" : "Refuse", dangerous: !agree })) {
      return;
    }
    setBusy(true);
    setProblem(null);
    try {
      sayDone(await answerConsent(consent, agree, activate));
      onAnswered();
    } catch (refusal) {
      setProblem(refusal);
      void look();
    } finally {
      setBusy(false);
    }
  };
  useDeeds(may ? { approve: () => void answer(true), discard: () => void answer(false) } : null);
  if (!may) {
    return (
      <Text size="sm" c="dimmed">
        Your role here ({who.role}) may look; answering takes {needed} or more.
      </Text>
    );
  }
  return (
    <Stack gap="sm">
      {consent.automation_id
        ? (
          <Switch
            label="Also activate it, so that its triggers start it"
            checked={activate}
            onChange={(event) => setActivate(event.currentTarget.checked)}
          />
        )
        : null}
      {problem ? <ProblemNote problem={problem} /> : null}
      <Group gap="xs">
        <Button loading={busy} onClick={() => void answer(true)}>Agree</Button>
        <Button variant="default" disabled={busy} onClick={() => void answer(false)}>
          Refuse
        </Button>
      </Group>
    </Stack>
  );
}
