// The header of an automation: name, state and actions.

import { Button, Menu } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { MessageSquareText, OctagonPause, Pause, Pencil, Play, Power } from "lucide-react";
import { useState } from "react";
import { client } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { CopyAs } from "../../kit/Copy";
import { PageHead } from "../../kit/PageHead";
import { Status } from "../../kit/Status";
import { HaltModal, useHalts } from "../health/HaltControls";
import { ActivateModal } from "./Activate";
import { refreshAll } from "./queries";
import { RunNowModal } from "./RunNow";
import type { Detail } from "./automationText";
import { t } from "../../strings";

const operations = (id: string) => {
  const one = `/api/v1/automations/${id}`;
  const given = { automation_id: id };
  return [
    {
      label: t.automation.readIt,
      operation: {
        method: "GET" as const,
        path: one,
        tool: "get_automation",
        arguments: given,
      },
    },
    {
      label: t.automation.dryRun,
      operation: {
        method: "POST" as const,
        path: `${one}/run`,
        body: { dry_run: true },
        tool: "run_automation",
        arguments: { ...given, dry_run: true },
      },
    },
    {
      label: t.automation.activate,
      operation: { method: "POST" as const, path: `${one}/activate` },
    },
    { label: t.automation.pause, operation: { method: "POST" as const, path: `${one}/pause` } },
    {
      label: t.automation.halt,
      operation: {
        method: "POST" as const,
        path: "/api/v1/halts",
        body: { scope: "automation", ...given, reason: "It writes to the wrong list." },
        tool: "halt_work",
        arguments: { scope: "automation", ...given, reason: "It writes to the wrong list." },
      },
    },
  ];
};

function Switch({ automation }: { automation: Detail }) {
  const [open, setOpen] = useState(false);
  const { busy, act } = useAction();
  const pause = () =>
    act(async () => {
      const params = { path: { automation_id: automation.id } };
      await client.POST("/api/v1/automations/{automation_id}/pause", { params });
      await refreshAll();
    }, t.automation.itIsPausedCurrentRuns);
  return (
    <>
      {automation.state === "active"
        ? (
          <Button
            variant="default"
            leftSection={<Pause size={16} />}
            loading={busy}
            onClick={() => void pause()}
          >
            {t.automation.pause}
          </Button>
        )
        : (
          <Button leftSection={<Power size={16} />} onClick={() => setOpen(true)}>
            {t.automation.activate3}
          </Button>
        )}
      {open ? <ActivateModal id={automation.id} close={() => setOpen(false)} /> : null}
    </>
  );
}

/** The kill switch; while it is on, the banner offers the release. */
function Stop({ automation }: { automation: Detail }) {
  const [open, setOpen] = useState(false);
  const { data } = useHalts();
  if (!data || data.halts.some((one) => one.automation_id === automation.id)) return null;
  return (
    <>
      <Button
        variant="light"
        color="red"
        leftSection={<OctagonPause size={16} />}
        onClick={() => setOpen(true)}
      >
        {t.automation.halt2}
      </Button>
      {open ? <HaltModal automation={automation} close={() => setOpen(false)} /> : null}
    </>
  );
}

function Change({ id }: { id: string }) {
  return (
    <Menu position="bottom-end" shadow="md">
      <Menu.Target>
        <Button variant="default" leftSection={<Pencil size={16} />}>{t.automation.edit}</Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          component={Link}
          to={`/automations/${id}/edit`}
          leftSection={<Pencil size={15} />}
        >
          {t.automation.editAsFormOrJson}
        </Menu.Item>
        <Menu.Item
          component={Link}
          to={`/new?automation=${id}`}
          leftSection={<MessageSquareText size={15} />}
        >
          {t.automation.describeAChange}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

export function Head({ automation }: { automation: Detail }) {
  const [running, setRunning] = useState(false);
  const here = automation.state !== "archived";
  const operateRole = useHasRole("operator");
  const operate = operateRole && here;
  const editRole = useHasRole("editor");
  const edit = editRole && here;
  return (
    <>
      <PageHead
        title={automation.name}
        back={{ to: "/automations", label: t.automation.automations }}
        beside={<Status value={automation.state} />}
        sub={automation.goal}
        right={
          <>
            <CopyAs operations={operations(automation.id)} />
            {edit ? <Change id={automation.id} /> : null}
            {operate
              ? (
                <Button
                  variant="default"
                  leftSection={<Play size={16} />}
                  onClick={() => setRunning(true)}
                >
                  {t.automation.runNow3}
                </Button>
              )
              : null}
            {operate ? <Stop automation={automation} /> : null}
            {operate ? <Switch automation={automation} /> : null}
          </>
        }
      />
      {running ? <RunNowModal id={automation.id} close={() => setRunning(false)} /> : null}
    </>
  );
}
