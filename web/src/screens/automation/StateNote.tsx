// The state of an automation, the reason, and how to resolve it.

import { Alert, Button, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CircleAlert, Inbox } from "lucide-react";
import { useState } from "react";
import { api, client } from "../../api/client";
import { useHasRole } from "../../api/session";
import { Takeover } from "../settings/Takeover";
import { useAction } from "../../kit/useAction";
import { ActivateModal, ConsentNote } from "./Activate";
import { refreshAll, useConsent } from "./queries";
import { definitionOf, type Detail, hasScript } from "./automationText";
import { t } from "../../strings";

function FailingNote({ automation }: { automation: Detail }) {
  const { busy, act } = useAction();
  const may = useHasRole("operator");
  const stopped = automation.paused_reason === "failures";
  const known = automation.acknowledged_at !== null;
  const acknowledge = () =>
    act(async () => {
      const params = { path: { automation_id: automation.id } };
      await client.POST("/api/v1/automations/{automation_id}/acknowledge", { params });
      await refreshAll();
    }, t.automation.failuresAcknowledgedYouAreNot);
  const times = t.counts.runs(automation.failures);
  return (
    <Alert
      color="red"
      variant="light"
      icon={<CircleAlert size={16} />}
      title={stopped ? t.automation.pausedAfterRepeatedFailures : t.automation.theLatestRunsFailed}
    >
      <Text size="sm">
        {stopped ? t.automation.failedInARowLook(times) : t.automation.failedInARowIt(times)}
      </Text>
      <Group gap="xs" mt="xs">
        {automation.last_run
          ? (
            <Button
              size="compact-sm"
              variant="default"
              component={Link}
              to={`/runs/${automation.last_run.id}`}
            >
              {t.automation.openTheLastRun}
            </Button>
          )
          : null}
        {may && !known
          ? (
            <Button
              size="compact-sm"
              variant="default"
              loading={busy}
              onClick={() => void acknowledge()}
            >
              {t.automation.acknowledge}
            </Button>
          )
          : null}
      </Group>
    </Alert>
  );
}

function OpenConsent({ id }: { id: string }) {
  const { consent } = useConsent(id, true);
  const [open, setOpen] = useState(false);
  const may = useHasRole("editor");
  if (!consent) return null;
  return (
    <ConsentNote consent={consent}>
      {may
        ? (
          <Button size="compact-sm" onClick={() => setOpen(true)}>
            {t.automation.reviewAndAgree}
          </Button>
        )
        : null}
      {open ? <ActivateModal id={id} close={() => setOpen(false)} /> : null}
    </ConsentNote>
  );
}

/** It was active before consent was recorded: it keeps running until somebody reviews it. */
function LegacyConsentNote({ id }: { id: string }) {
  const { busy, act } = useAction();
  const may = useHasRole("editor");
  const looked = () =>
    act(async () => {
      const params = { path: { automation_id: id } };
      await client.POST("/api/v1/automations/{automation_id}/reviewed", { params });
      await refreshAll();
    }, t.automation.youAgreedToItsPermissions);
  return (
    <Alert color="blue" variant="light" title={t.automation.keptAfterAnUpgrade}>
      <Text size="sm">{t.automation.itWasInUseBefore}</Text>
      {may
        ? (
          <Button
            size="compact-sm"
            variant="default"
            mt="xs"
            loading={busy}
            onClick={() => void looked()}
          >
            {t.automation.iReviewedItAndAgree}
          </Button>
        )
        : null}
    </Alert>
  );
}

/** Its owner left: it continues once somebody takes it over. */
function OwnerlessNote({ automation }: { automation: Detail }) {
  const may = useHasRole("editor");
  const members = api.useQuery("get", "/api/v1/members");
  const left = members.data?.left.find((one) => one.id === automation.created_by);
  const stopped = automation.paused_reason === "owner_left";
  if (!left && !stopped) return null;
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<CircleAlert size={16} />}
      title={left ? t.automation.ownerLeft : t.automation.itStoppedWhenItsFormer}
    >
      <Text size="sm">
        {stopped ? t.automation.itStartsNothingMissedStarts : t.automation.itCanNoLongerUse}
        {left ? "" : t.automation.addWhatIsMissingAnd}
      </Text>
      {may && left
        ? (
          <Group gap="xs" mt="xs">
            <Takeover memberId={left.id} name="" only={automation.id} />
          </Group>
        )
        : null}
    </Alert>
  );
}

function WaitingNote({ automation }: { automation: Detail }) {
  const drafts = automation.drafts_waiting;
  const questions = automation.approvals_waiting;
  const text = [
    drafts ? t.automation.draftToReview(drafts) : "",
    questions ? t.automation.questionToAnswer(questions) : "",
  ].filter(Boolean).join(" and ");
  if (!text) return null;
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<Inbox size={16} />}
      title={t.automation.inTheInbox(text)}
    >
      <Button size="compact-sm" variant="default" component={Link} to="/inbox">
        {t.automation.goToTheInbox}
      </Button>
    </Alert>
  );
}

/** Scripts with only one sandbox layer get a warning before activation. */
function SandboxWarning() {
  const { data } = api.useQuery("get", "/api/v1/health/scripts", {}, { retry: false });
  const warnings = (data as { warnings?: string[] } | undefined)?.warnings ?? [];
  return warnings.length
    ? <Alert color="yellow" variant="light">{warnings.join(" ")}</Alert>
    : null;
}

export function StateNotes({ automation }: { automation: Detail }) {
  return (
    <>
      {automation.paused_reason === "consent" ? <OpenConsent id={automation.id} /> : null}
      {automation.agreed?.via === "upgrade" ? <LegacyConsentNote id={automation.id} /> : null}
      <OwnerlessNote automation={automation} />
      {automation.failures > 0 ? <FailingNote automation={automation} /> : null}
      <WaitingNote automation={automation} />
      {hasScript(definitionOf(automation)) ? <SandboxWarning /> : null}
    </>
  );
}
