// The kill switch: halting with a reason, releasing, and the banner of a halt.

import { Alert, Button, Checkbox, Group, Modal, Stack, Text, Textarea } from "@mantine/core";
import { OctagonPause } from "lucide-react";
import { useState } from "react";
import { type Answer, api, client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { notifyDone, useAction } from "../../kit/useAction";
import { ProblemNote } from "../../kit/QueryResult";
import { describeHalted, describeHaltEffect, describeSince, haltsOfAutomation } from "./healthText";
import { t } from "../../strings";

export type Halt = Answer<"list_halts">["halts"][number];

// Halts by others are not pushed, so this polls.
const EVERY = 10_000;
const MOST = 300;
const refreshAll = () => refresh("/api/v1/halts", "/api/v1/automations", "/api/v1/runs");

export const useHalts = () => api.useQuery("get", "/api/v1/halts", {}, { refetchInterval: EVERY });

export function ReleaseButton({ halt, size }: { halt: Halt; size?: string }) {
  const { busy, act } = useAction();
  const may = useHasRole("operator");
  const release = () =>
    act(async () => {
      const body = {
        scope: halt.scope,
        ...(halt.automation_id ? { automation_id: halt.automation_id } : {}),
        ...(halt.recipe ? { recipe: halt.recipe } : {}),
      };
      const { data } = await client.POST("/api/v1/halts/release", { body });
      await refreshAll();
      notifyDone(data!.says);
    });
  // A workspace cannot release a halt that an administrator set for all workspaces.
  return may && !halt.everywhere
    ? (
      <Button
        variant="default"
        size={size}
        flex="none"
        aria-label={t.health.release2(describeHalted(halt))}
        loading={busy}
        onClick={release}
      >
        {t.health.release}
      </Button>
    )
    : null;
}

export function HaltBanner({ halt }: { halt: Halt }) {
  return (
    <Alert
      color="red"
      variant="light"
      mb="md"
      icon={<OctagonPause size={16} />}
      title={<span className="wrap-anywhere">{describeSince(halt)}</span>}
    >
      <Text size="sm" className="wrap-anywhere">{t.health.reason(halt.reason)}</Text>
      <Text size="sm">{describeHaltEffect(halt)}</Text>
      <Group mt="xs">
        <ReleaseButton halt={halt} size="compact-sm" />
      </Group>
    </Alert>
  );
}

/** Halts of one automation or its recipe; the shell shows those of the workspace. */
export function AutomationHaltBanner({ id, reason }: { id: string; reason: string | null }) {
  const { data } = useHalts();
  const holding = haltsOfAutomation(data?.halts ?? [], id, reason);
  return <>{holding.map((one) => <HaltBanner key={one.halt_id} halt={one} />)}</>;
}

/** The banner on every screen while the workspace is halted. */
export default function WorkspaceHaltBanner() {
  const { data } = useHalts();
  const whole = data?.halts.find((one) => one.scope === "workspace");
  return whole ? <HaltBanner halt={whole} /> : null;
}

type Halted = { id: string; name: string };

function Body({ automation, close }: { automation?: Halted; close: () => void }) {
  const [reason, setReason] = useState("");
  const [cancel, setCancel] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const halt = async () => {
    setBusy(true);
    setProblem(null);
    const named = automation
      ? { scope: "automation" as const, automation_id: automation.id }
      : { scope: "workspace" as const };
    try {
      const { data } = await client.POST("/api/v1/halts", { body: { ...named, reason, cancel } });
      close();
      notifyDone(data!.says);
      await refreshAll();
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void halt();
      }}
    >
      <Stack>
        <Text size="sm">{t.health.currentRunsAreInterruptedAnd(Boolean(automation))}</Text>
        <Textarea
          label={t.health.reason2}
          description={t.health.shownToEveryoneWhoSees}
          required
          autosize
          minRows={2}
          maxLength={MOST}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          data-autofocus
        />
        <Checkbox
          checked={cancel}
          onChange={(event) => setCancel(event.currentTarget.checked)}
          label={t.health.cancelTheCurrentRunsInstead}
        />
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>{t.health.notNow}</Button>
          <Button type="submit" color="red.9" loading={busy} disabled={!reason.trim()}>
            {automation ? t.health.halt : t.health.haltEverything}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Asks for a reason, and halts one automation or the workspace. */
export function HaltModal({ automation, close }: { automation?: Halted; close: () => void }) {
  const title = automation
    ? t.health.halt2(automation.name)
    : t.health.haltEverythingInThisWorkspace;
  return (
    <Modal opened onClose={close} title={title} centered>
      <Body automation={automation} close={close} />
    </Modal>
  );
}
