// Activating an automation. Its triggers, grants, cost and warnings are shown first; consent covers
// exactly what was shown.

import { Alert, Button, Group, List, Modal, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { api, client } from "../../api/client";
import { Problem } from "../../api/problem";
import { useHasRole } from "../../api/session";
import { notifyDone } from "../../kit/useAction";
import { ProblemNote, QueryResult, SlowNote } from "../../kit/QueryResult";
import { capitalize, describeTrigger } from "../../kit/format";
import {
  type Consent,
  refreshAll,
  useAutomation,
  useConsent,
  useForecast,
  useTriggers,
} from "./queries";
import { AdditionText } from "../../review/AdditionText";
import { Permissions } from "./Permissions";
import type { Detail } from "./automationText";
import { t } from "../../strings";

const MOST_FLAGS = 5;
const ORIGINS: Record<string, string> = {
  create: t.automation.aProgramCreatedItIt,
  install: t.automation.itWasInstalledFromA,
  upgrade: t.automation.anUpgradeAsksForMore,
  import: t.automation.itWasImportedFromA,
  edit: t.automation.aProgramChangedItIt,
};

export function ConsentNote({ consent, children }: { consent: Consent; children?: ReactNode }) {
  return (
    <Alert color="yellow" variant="light" title={t.automation.doYouAgreeToIts}>
      <Text size="sm">
        {ORIGINS[consent.origin] ?? ""}
        {consent.status === "refused" ? t.automation.itWasDeclinedBefore : ""}
      </Text>
      <List size="sm" my="xs" className="wrap-anywhere">
        {consent.additions.map((one) => (
          <List.Item key={one.pointer + one.says}>
            <AdditionText says={one.says} />
          </List.Item>
        ))}
      </List>
      {children}
    </Alert>
  );
}

export function Price({ id }: { id: string }) {
  const forecast = useForecast(id);
  if (forecast.error) {
    return <Text size="sm">{t.automation.theCostForecastIsNot}</Text>;
  }
  if (!forecast.data) return <SlowNote text={t.automation.calculatingTheCost} />;
  const { sentence, notes, runs_per_month: runs, usd_per_run: price } = forecast.data;
  return (
    <Stack gap={4}>
      <Text size="sm">{sentence}</Text>
      {price.basis === "free" ? null : <Text size="xs" c="dimmed">{runs.why} {price.why}</Text>}
      {notes.map((one) => <Text size="xs" c="dimmed" key={one}>{one}</Text>)}
    </Stack>
  );
}

/** Warnings of the rule-based review; only editors can request it. */
function Flags({ id }: { id: string }) {
  const may = useHasRole("editor");
  const reviewed = api.useQuery("post", "/api/v1/reviews", {
    body: { automation_id: id, by: "rules" },
  }, { enabled: may, retry: false });
  const flags = reviewed.data?.review.flags ?? [];
  if (!flags.length) return null;
  const ranked = [...flags].sort((one, other) =>
    Number(other.level === "warning") - Number(one.level === "warning")
  );
  return (
    <Stack gap={4}>
      <Title order={3} size="h5">{t.automation.checkBeforeYouActivate}</Title>
      <List size="sm">
        {ranked.slice(0, MOST_FLAGS).map((one) => (
          <List.Item key={one.text}>{one.text} {one.suggestion ?? ""}</List.Item>
        ))}
      </List>
      {ranked.length > MOST_FLAGS
        ? <Text size="xs" c="dimmed">{t.automation.andMore(ranked.length - MOST_FLAGS)}</Text>
        : null}
    </Stack>
  );
}

async function start(automation: Detail, consent: Consent | null): Promise<string> {
  const params = { path: { automation_id: automation.id } };
  const { data: now } = await client.GET("/api/v1/automations/{automation_id}", { params });
  if (now!.version !== automation.version) {
    throw new Problem(
      409,
      {
        code: "overtaken",
        detail: t.automation.versionWasSavedInThe(now!.version),
      } as Problem["document"],
    );
  }
  // Consents to exactly what was shown: the server rejects any other digest, and nothing starts.
  const { data } = await client.POST("/api/v1/automations/{automation_id}/activate", {
    params,
    body: consent ? { digest: consent.digest } : {},
  });
  return [t.automation.itIsActive, ...data!.warnings.map((one) => one.detail)].join(" ");
}

function Body({ automation, close }: { automation: Detail; close: () => void }) {
  const triggers = useTriggers(automation.id);
  const { consent, isLoading } = useConsent(
    automation.id,
    automation.paused_reason === "consent",
  );
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const live = (triggers.data?.items ?? []).filter((one) => one.enabled);
  const go = async () => {
    setBusy(true);
    setProblem(null);
    try {
      notifyDone(await start(automation, consent));
      close();
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
      void refreshAll();
    }
  };
  return (
    <Stack>
      {consent ? <ConsentNote consent={consent} /> : null}
      <Stack gap={4}>
        <Title order={3} size="h5">{t.automation.triggers}</Title>
        {triggers.data && !live.length
          ? <Text size="sm">{t.automation.noTriggerIsOnIt}</Text>
          : null}
        <List size="sm">
          {live.map((one) => <List.Item key={one.id}>{capitalize(describeTrigger(one))}
          </List.Item>)}
        </List>
      </Stack>
      <Stack gap={4}>
        <Title order={3} size="h5">{t.automation.cost}</Title>
        <Price id={automation.id} />
      </Stack>
      <Stack gap={4}>
        <Title order={3} size="h5">{t.automation.whatItMayDo}</Title>
        <Permissions automation={automation} />
      </Stack>
      <Flags id={automation.id} />
      {problem ? <ProblemNote problem={problem} /> : null}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={close}>{t.automation.notNow}</Button>
        <Button
          onClick={() => void go()}
          loading={busy}
          disabled={isLoading}
          data-autofocus
        >
          {consent ? t.automation.agreeAndActivate : t.automation.activate}
        </Button>
      </Group>
    </Stack>
  );
}

export function ActivateModal({ id, close }: { id: string; close: () => void }) {
  const query = useAutomation(id);
  const title = query.data ? t.automation.activate2(query.data.name) : t.automation.activate;
  return (
    <Modal opened onClose={close} title={title} size="lg" centered>
      <QueryResult of={query}>
        {(automation) => <Body automation={automation} close={close} />}
      </QueryResult>
    </Modal>
  );
}
