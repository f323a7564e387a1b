// One switch for all attached automations, and its result: active, paused, or pending.

import { Alert, Anchor, Button, List, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CircleCheck, Pause, Play, TriangleAlert } from "lucide-react";
import { type ReactNode, useState } from "react";
import { type Answer, client } from "../../api/client";
import { useAction } from "../../kit/useAction";
import { escapeInvisible } from "../../kit/format";
import { refreshAll } from "./mutations";
import type { WorkflowDetail } from "./progress";
import { t } from "../../strings";

type StatusResult = Answer<"set_workflow_status">;
export type StatusSwitch = {
  button: ReactNode;
  result: StatusResult | null;
  to: (status: WorkflowDetail["status"]) => Promise<void>;
  forget: () => void;
};

const STARTS = {
  draft: t.workflows.start,
  paused: t.workflows.resumeAll,
  archived: t.workflows.reactivate,
  active: "",
};

export function useStatusSwitch(held: WorkflowDetail): StatusSwitch {
  const { busy, act } = useAction();
  const [result, setResult] = useState<StatusResult | null>(null);
  const to = async (status: WorkflowDetail["status"]) => {
    await act(async () => {
      const { data } = await client.POST("/api/v1/workflows/{workflow_id}/status", {
        params: { path: { workflow_id: held.id } },
        body: { status },
      });
      await refreshAll();
      setResult(data ?? null);
    });
  };
  const active = held.status === "active";
  const button = (
    <Button
      loading={busy}
      variant={active ? "default" : "filled"}
      leftSection={active ? <Pause size={15} /> : <Play size={15} />}
      onClick={() => void to(active ? "paused" : "active")}
    >
      {active ? t.workflows.pauseAll : STARTS[held.status]}
    </Button>
  );
  return { button, result, to, forget: () => setResult(null) };
}

const WORDS = {
  active: t.workflows.itIsActive,
  paused: t.workflows.itIsPaused,
  archived: t.workflows.itIsArchived,
  draft: t.workflows.itIsADraft,
};

/** Shown until dismissed: names, and reasons for the pending ones. */
export function Switched(
  { result, held, onClose }: {
    result: StatusResult | null;
    held: WorkflowDetail;
    onClose: () => void;
  },
) {
  if (!result) return null;
  const { activated, paused, waiting } = result;
  const quiet = !activated.length && !paused.length && !waiting.length;
  return (
    <Alert
      mb="lg"
      variant="light"
      role="status"
      color={waiting.length ? "yellow" : "teal"}
      icon={waiting.length ? <TriangleAlert size={18} /> : <CircleCheck size={18} />}
      title={WORDS[result.status]}
      withCloseButton
      closeButtonLabel={t.workflows.close}
      onClose={onClose}
    >
      <Stack gap="xs">
        {quiet ? <Text size="sm">{t.workflows.itsAutomationsDoNotChange}</Text> : null}
        <Some
          text={t.workflows.automationActivated(activated.length)}
          ids={activated}
          held={held}
        />
        <Some
          text={t.workflows.automationPaused(paused.length)}
          ids={paused}
          held={held}
        />
        {waiting.length
          ? (
            <div>
              <Text size="sm" fw={600}>
                {t.counts.automationsWait(waiting.length)}:
              </Text>
              <List size="sm">
                {waiting.map((one) => (
                  <List.Item key={one.automation_id}>
                    <Anchor
                      component={Link}
                      to={`/automations/${one.automation_id}`}
                      size="sm"
                    >
                      {escapeInvisible(one.name ?? "")}
                    </Anchor>: {one.detail}
                  </List.Item>
                ))}
              </List>
            </div>
          )
          : null}
      </Stack>
    </Alert>
  );
}

function Some({ text, ids, held }: { text: string; ids: string[]; held: WorkflowDetail }) {
  if (!ids.length) return null;
  const names = new Map(held.automations.map((one) => [one.automation_id, one.name]));
  return <Text size="sm">{text} {ids.map((id) => names.get(id) ?? id).join(", ")}.</Text>;
}
