// Running an automation now. A dry run is the default; a real run shows what it may send.

import { Alert, Button, Group, List, Modal, Radio, Stack, Text, Title } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client } from "../../api/client";
import { Problem } from "../../api/problem";
import { SchemaForm } from "../../form";
import { notifyDone, notifyProblem } from "../../kit/useAction";
import { ProblemNote, QueryResult } from "../../kit/QueryResult";
import { humanize } from "../../kit/format";
import { AdditionText } from "../../review/AdditionText";
import { GrantTitle } from "../../review/GrantText";
import { describeEffect } from "../../review/reviewText";
import { refreshAll, useAutomation, useConsent } from "./queries";
import { defaultInputs, definitionOf, type Detail, takesInputs } from "./automationText";
import { t } from "../../strings";

type Mode = "dry_run" | "verify" | "live";
const MODES: { value: Mode; label: string; description: string }[] = [
  {
    value: "dry_run",
    label: t.automation.dryRun,
    description: t.automation.nothingChangesHereOrOutside,
  },
  {
    value: "verify",
    label: t.automation.verifyMode,
    description: t.automation.nothingIsSentOutsideChanges,
  },
  {
    value: "live",
    label: t.automation.live,
    description: t.automation.sameAsATriggeredRun,
  },
];
const STARTS: Record<Mode, string> = {
  dry_run: t.automation.startTheDryRun,
  verify: t.automation.startInVerifyMode,
  live: t.automation.runLive,
};

/** The findings of a rejected request about the inputs, by field. */
function findingsOf(problem: unknown) {
  if (!(problem instanceof Problem)) return [];
  return problem.findings.map((one) => ({
    pointer: one.pointer.replace(/^\/inputs(?=\/|$)/, ""),
    detail: one.detail,
    suggestion: one.suggestion ?? undefined,
    level: "error" as const,
  }));
}

/** What a real run may send, and whether it asks for approval. */
function Reach({ automation }: { automation: Detail }) {
  const sends = automation.grants.filter((one) => one.effect === "send");
  if (!sends.length) return <Text size="sm">{t.automation.itSendsNothingOutside}</Text>;
  return (
    <Stack gap={4}>
      <Title order={3} size="h5">{t.automation.whatItCanSend}</Title>
      <List size="sm" className="wrap-anywhere">
        {sends.map((one) => (
          <List.Item key={one.capability + JSON.stringify(one.params)}>
            <GrantTitle grant={one} />: {describeEffect(one)}
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}

function ModeChoice({ mode, setMode }: { mode: Mode; setMode: (mode: Mode) => void }) {
  return (
    <Radio.Group
      value={mode}
      onChange={(value) => setMode(value as Mode)}
      label={t.automation.mode}
    >
      <Stack gap="xs" mt={6}>
        {MODES.map((one) => (
          <Radio
            key={one.value}
            value={one.value}
            label={one.label}
            description={one.description}
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}

function Body({ automation, close }: { automation: Detail; close: () => void }) {
  const definition = definitionOf(automation);
  const navigate = useNavigate();
  const [mode, setMode] = useState<Mode>("dry_run");
  const [inputs, setInputs] = useState<unknown>(() => defaultInputs(definition));
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  // The consent is shown, and its digest is sent along. A dry run needs no consent.
  const { consent, isLoading } = useConsent(automation.id, automation.paused_reason === "consent");
  const refused = problem instanceof Problem && problem.code.startsWith("consent_")
    ? problem.document?.consent ?? null
    : null;
  const neededConsent = mode === "dry_run" ? null : refused ?? consent;
  const start = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const { data } = await client.POST("/api/v1/automations/{automation_id}/run", {
        params: { path: { automation_id: automation.id } },
        body: {
          dry_run: mode === "dry_run",
          verify_mode: mode === "verify",
          ...(neededConsent?.digest ? { digest: neededConsent.digest } : {}),
          ...(takesInputs(definition) ? { inputs: inputs as Record<string, unknown> } : {}),
        },
      });
      void refreshAll();
      close();
      if (data!.reason) {
        notifyProblem(new Error(t.automation.itDidNotStart(humanize(data!.reason))));
      } else notifyDone(t.automation.theRunStarted);
      await navigate({ to: `/runs/${data!.run_id}` });
    } catch (refusal) {
      setProblem(refusal);
      void refreshAll();
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <Stack>
        <ModeChoice mode={mode} setMode={setMode} />
        {takesInputs(definition)
          ? (
            <Stack gap="xs">
              <Title order={3} size="h5">{t.automation.inputs}</Title>
              <SchemaForm
                schema={definition.inputs!.schema!}
                value={inputs}
                onChange={setInputs}
                findings={findingsOf(problem)}
              />
            </Stack>
          )
          : null}
        {mode === "live" && !neededConsent ? <Reach automation={automation} /> : null}
        {neededConsent
          ? (
            <Alert color="yellow" variant="light" title={t.automation.byRunningItYouAgree}>
              <List size="sm" className="wrap-anywhere">
                {neededConsent.additions.map((one) => (
                  <List.Item key={one.pointer + one.says}>
                    <AdditionText says={one.says} />
                  </List.Item>
                ))}
              </List>
            </Alert>
          )
          : null}
        {problem && !refused ? <ProblemNote problem={problem} /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>{t.automation.notNow}</Button>
          <Button
            type="submit"
            loading={busy}
            disabled={mode !== "dry_run" && isLoading}
          >
            {neededConsent ? t.automation.agreeAndRun : STARTS[mode]}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

export function RunNowModal({ id, close }: { id: string; close: () => void }) {
  const query = useAutomation(id);
  return (
    <Modal
      opened
      onClose={close}
      title={query.data ? t.automation.runNow(query.data.name) : t.automation.runNow2}
      centered
      size="lg"
    >
      <QueryResult of={query}>
        {(automation) => <Body automation={automation} close={close} />}
      </QueryResult>
    </Modal>
  );
}
