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
import { escapeInvisible } from "../../kit/format";
import { AdditionText } from "../../review/AdditionText";
import { answerConsent, look } from "./answers";
import { useKeyActions } from "./keyActions";
import type { Consent } from "./items";
import { t } from "../../strings";

const ORIGINS: Record<Consent["origin"], string> = {
  create: t.inbox.aProgramCreatedIt,
  install: t.inbox.itWasInstalledFromA,
  upgrade: t.inbox.anUpgradeAsksForMore,
  import: t.inbox.itWasImportedFromA,
  edit: t.inbox.aProgramChangedIt,
  tools: t.inbox.theMcpServerChangedThese,
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
    ? t.inbox.versionWasAgreedToThis(consent.agreed_version, consent.version)
    : t.inbox.nobodyHasAgreedToIt;
  return (
    <Stack gap="md">
      <Group gap="xs">
        <Title order={2} size="h4" className="wrap-anywhere">
          {escapeInvisible(consent.name ?? t.inbox.anAutomation)}{" "}
          {consent.run_id ? t.inbox.repeatAnEarlierRun2 : t.inbox.needsYourConsent}
        </Title>
        <Badge variant="light" color="yellow" tt="none" radius="sm">
          {t.counts.additions(consent.additions.length)}
        </Badge>
      </Group>
      <Text size="sm" c="dimmed">
        {t.inbox.requested(
          consent.run_id
            ? t.inbox.aProgramWantsToRepeat(consent.version)
            : t.inbox.itStartsNothingUntilA(
              ORIGINS[consent.origin],
              consent.automation_id ? before : "",
            ),
          <Timestamp at={consent.asked_at} />,
        )}
      </Text>
      <List
        spacing="sm"
        listStyleType="none"
        center={false}
        aria-label={t.inbox.newPermissions}
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
                  {t.inbox.seeTheDifference}
                </Anchor>
              )
              : null}
            <Anchor
              component={Link}
              to={`/automations/${consent.automation_id}`}
              size="sm"
            >
              {t.inbox.theAutomation}
            </Anchor>
            {consent.run_id
              ? (
                <Anchor component={Link} to={`/runs/${consent.run_id}`} size="sm">
                  {t.inbox.theRun}
                </Anchor>
              )
              : null}
          </>
        )
        : <Anchor component={Link} to="/integrations" size="sm">{t.inbox.theConnection}</Anchor>}
      <Group gap={4}>
        <Text size="xs" c="dimmed">
          {t.inbox.digest(<span className="mono">{consent.digest.slice(0, 12)}</span>)}
        </Text>
        <CopyIcon text={consent.digest} label={t.inbox.copyTheDigest} />
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
      ? t.inbox.programsCannotRepeatThisRun
      : t.inbox.itStaysPausedYouCan;
    if (
      !agree &&
      !await ask({ title: t.inbox.declineThis, message, yes: t.inbox.decline, dangerous: true })
    ) {
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
      <Text size="sm" c="dimmed">{t.inbox.yourRoleCanOnlyViewAnswering(who.role, needed)}</Text>
    );
  }
  return (
    <Stack gap="sm">
      {problem ? <ProblemNote problem={problem} /> : null}
      <Group gap="xs">
        <Button loading={busy} onClick={() => void answer(true, activates)}>
          {activates ? t.inbox.agreeAndActivate : t.inbox.agree}
        </Button>
        {activates
          ? (
            <Button variant="default" disabled={busy} onClick={() => void answer(true)}>
              {t.inbox.agreeAndKeepItPaused}
            </Button>
          )
          : null}
        <Button variant="default" disabled={busy} onClick={() => void answer(false)}>
          {t.inbox.decline}
        </Button>
      </Group>
    </Stack>
  );
}
