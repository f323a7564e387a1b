// The actions on an automation in the list: run, pause, activate.

import { ActionIcon, Group, Tooltip } from "@mantine/core";
import { Pause, Play, Power } from "lucide-react";
import { useState } from "react";
import { client, refresh, type Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { ActivateModal } from "../automation/Activate";
import { RunNowModal } from "../automation/RunNow";
import { t } from "../../strings";

type Summary = Schemas["AutomationSummary"];

export function RowActions({ automation }: { automation: Summary }) {
  const [open, setOpen] = useState<"run" | "activate" | null>(null);
  const { busy, act } = useAction();
  const may = useHasRole("operator");
  if (!may || automation.state === "archived") return null;
  const pause = () =>
    act(async () => {
      const params = { path: { automation_id: automation.id } };
      await client.POST("/api/v1/automations/{automation_id}/pause", { params });
      await refresh("/api/v1/automations");
    }, t.automations.isPausedCurrentRunsContinue(automation.name));
  const active = automation.state === "active";
  return (
    <Group gap={4} wrap="nowrap">
      <RowAction
        label={t.automations.runNow(automation.name)}
        icon={Play}
        work={() => setOpen("run")}
      />
      {active
        ? (
          <RowAction
            label={t.automations.pause(automation.name)}
            icon={Pause}
            work={() => void pause()}
            busy={busy}
          />
        )
        : (
          <RowAction
            label={t.automations.activate(automation.name)}
            icon={Power}
            work={() => setOpen("activate")}
          />
        )}
      {open === "run" ? <RunNowModal id={automation.id} close={() => setOpen(null)} /> : null}
      {open === "activate"
        ? <ActivateModal id={automation.id} close={() => setOpen(null)} />
        : null}
    </Group>
  );
}

type RowActionProps = { label: string; icon: typeof Play; work: () => void; busy?: boolean };

function RowAction({ label, icon: Icon, work, busy }: RowActionProps) {
  return (
    <Tooltip label={label} openDelay={400}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={work}
        loading={busy}
      >
        <Icon size={16} />
      </ActionIcon>
    </Tooltip>
  );
}
