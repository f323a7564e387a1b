// The state of an automation, the reason, and how to resolve it.

import { Alert, Button, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CircleAlert, Inbox } from "lucide-react";
import { useState } from "react";
import { api, client } from "../../api/client";
import { useHasRole } from "../../api/session";
import { Takeover } from "../settings/Takeover";
import { useAction } from "../../kit/useAction";
import { formatCount } from "../../kit/format";
import { ActivateModal, ConsentNote } from "./Activate";
import { refreshAll, useConsent } from "./queries";
import { definitionOf, type Detail, hasScript } from "./automationText";

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
    }, "Its failures so far are known. They are not told of again.");
  const times = formatCount(automation.failures, "run");
  return (
    <Alert
      color="red"
      variant="light"
      icon={<CircleAlert size={16} />}
      title={stopped ? "It was stopped because it kept failing" : "Its latest runs failed"}
    >
      <Text size="sm">
        {stopped
          ? `${times} failed in a row. Look at the last one, fix the cause, and activate it again.`
          : `${times} failed in a row. It goes on; after too many it is paused.`}
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
              Look at the last run
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
              I know about it
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
            Review and agree…
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
    }, "You have agreed to it as it is.");
  return (
    <Alert color="blue" variant="light" title="Carried over by an upgrade">
      <Text size="sm">
        It was in use before agreement was recorded, and does exactly what it did before. Look at it
        once.
      </Text>
      {may
        ? (
          <Button
            size="compact-sm"
            variant="default"
            mt="xs"
            loading={busy}
            onClick={() => void looked()}
          >
            I have looked at it and agree
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
      title={left ? "Its owner left" : "It stopped when its former owner left"}
    >
      <Text size="sm">
        {stopped
          ? "It starts nothing. What should have started it is recorded and can be replayed."
          : "It can no longer use the secrets and connections of its owner."}
        {left ? "" : " Set what it lacks and activate it."}
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
    drafts ? `${formatCount(drafts, "draft")} to look at` : "",
    questions ? `${formatCount(questions, "question")} to answer` : "",
  ].filter(Boolean).join(" and ");
  if (!text) return null;
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<Inbox size={16} />}
      title={`In the inbox: ${text}`}
    >
      <Button size="compact-sm" variant="default" component={Link} to="/inbox">
        Go to the inbox
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
