// A consent request: what an automation or the tools of a connection could do beyond the consent
// given. One sentence per addition; the answer covers exactly these.

import { Anchor, Badge, Button, Group, List, Stack, Text, ThemeIcon, Title } from "@mantine/core";
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
import { useHasRole, useSession } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { notifyDone } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { CopyIcon } from "../../kit/Copy";
import { Timestamp } from "../../kit/Timestamp";
import { escapeInvisible, formatCount } from "../../kit/format";
import { AdditionText } from "../../review/AdditionText";
import { answerConsent, look } from "./answers";
import { useKeyActions } from "./keyActions";
import type { Consent } from "./items";

const ORIGINS: Record<Consent["origin"], string> = {
  create: "A program created it.",
  install: "It was installed from a recipe.",
  upgrade: "An upgrade lets it do more than was agreed to.",
  import: "It was imported from a file.",
  edit: "A program changed it.",
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
    : "Nobody has agreed to it yet.";
  return (
    <Stack gap="md">
      <Group gap="xs">
        <Title order={2} size="h4" className="wrap-anywhere">
          {escapeInvisible(consent.name ?? "An automation")}{" "}
          {consent.run_id ? "wants to repeat an earlier run" : "waits for your consent"}
        </Title>
        <Badge variant="light" color="yellow" tt="none" radius="sm">
          {formatCount(consent.additions.length, "addition")}
        </Badge>
      </Group>
      <Text size="sm" c="dimmed">
        {consent.run_id
          ? `A program wants to repeat a run of version ${consent.version}, which may do more than is
            agreed to now. The answer changes nothing about the version in force.`
          : `${ORIGINS[consent.origin]} ${
            consent.automation_id ? before : ""
          } It starts nothing until a person agrees.`} Asked <Timestamp at={consent.asked_at} />.
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
              <AdditionText says={one.says} />
              <Text size="xs" c="dimmed" className="wrap-anywhere">
                <span className="mono">{one.capability || one.pointer}</span>
              </Text>
            </List.Item>
          );
        })}
      </List>
      <ConsentChoices consent={consent} />
      <ConsentAnswers key={consent.digest} {...props} />
    </Stack>
  );
}

function ConsentChoices({ consent }: { consent: Consent }) {
  return (
    <Group gap="lg">
      {consent.automation_id
        ? (
          <>
            {consent.agreed_version
              ? (
                <Anchor
                  component={Link}
                  to={`/automations/${consent.automation_id}/versions`}
                  size="sm"
                >
                  See the difference
                </Anchor>
              )
              : null}
            <Anchor
              component={Link}
              to={`/automations/${consent.automation_id}`}
              size="sm"
            >
              The automation
            </Anchor>
            {consent.run_id
              ? (
                <Anchor component={Link} to={`/runs/${consent.run_id}`} size="sm">
                  The run
                </Anchor>
              )
              : null}
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
  const who = useSession();
  const ofAutomation = consent.automation_id !== null;
  // A run is repeated without activating anything.
  const activates = ofAutomation && !consent.run_id;
  const needed = ofAutomation ? "editor" : "admin";
  const may = useHasRole(needed);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  // The additions are on the screen, so one confirmation is enough.
  const answer = async (agree: boolean, activate = false) => {
    const message = consent.run_id
      ? "No program repeats this run. You can agree later after all."
      : "It stays paused. You can bring an earlier version back, or agree later after all.";
    if (!agree && !await ask({ title: "Refuse this?", message, yes: "Refuse", dangerous: true })) {
      return;
    }
    setBusy(true);
    setProblem(null);
    try {
      notifyDone(await answerConsent(consent, agree, activate));
      onAnswered();
    } catch (refusal) {
      setProblem(refusal);
      void look();
    } finally {
      setBusy(false);
    }
  };
  useKeyActions(
    may ? { approve: () => void answer(true, activates), discard: () => void answer(false) } : null,
  );
  if (!may) {
    return (
      <Text size="sm" c="dimmed">
        Your role here ({who.role}) may look; answering takes {needed} or more.
      </Text>
    );
  }
  return (
    <Stack gap="sm">
      {problem ? <ProblemNote problem={problem} /> : null}
      <Group gap="xs">
        <Button loading={busy} onClick={() => void answer(true, activates)}>
          {activates ? "Agree and activate" : "Agree"}
        </Button>
        {activates
          ? (
            <Button variant="default" disabled={busy} onClick={() => void answer(true)}>
              Agree and keep it paused
            </Button>
          )
          : null}
        <Button variant="default" disabled={busy} onClick={() => void answer(false)}>
          Refuse
        </Button>
      </Group>
    </Stack>
  );
}
