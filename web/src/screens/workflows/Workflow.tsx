// One workflow: purpose, state, members and automations.

import { ActionIcon, Anchor, Button, Grid, Menu, Stack, Text } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { Archive, Ellipsis, FilePenLine, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { PageHead } from "../../kit/PageHead";
import { useRunsRefresh } from "../../kit/useRunsRefresh";
import { Status } from "../../kit/Status";
import { AttachedAutomations } from "./AttachedAutomations";
import { useRights } from "./mutations";
import { type WorkflowDetail, zoneHere } from "./progress";
import { Deadlines } from "./Deadlines";
import { DeleteForm } from "./DeleteForm";
import { EditCharter } from "./EditForms";
import { Kpis } from "./Kpis";
import { Panel } from "./Panel";
import { Roster } from "./Roster";
import { type StatusSwitch, Switched, useStatusSwitch } from "./StatusSwitch";
import { Tasks } from "./Tasks";
import { t } from "../../strings";

const BACK = { to: "/workflows", label: t.workflows.projects };

export default function Workflow() {
  const { workflowId } = useParams({ strict: false }) as { workflowId: string };
  const found = api.useQuery("get", "/api/v1/workflows/{workflow_id}", {
    params: {
      path: { workflow_id: workflowId },
      query: { standing: true, timezone: zoneHere() },
    },
  });
  useRunsRefresh(["/api/v1/workflows"]);
  if (found.data) return <Found held={found.data} />;
  return (
    <>
      <PageHead back={BACK} title={t.workflows.project} />
      <QueryResult of={found}>{() => null}</QueryResult>
    </>
  );
}

function Found({ held }: { held: WorkflowDetail }) {
  const rights = useRights(held);
  const switching = useStatusSwitch(held);
  const [editing, setEditing] = useState(false);
  const edit = () => setEditing(true);
  return (
    <>
      <PageHead
        back={BACK}
        title={held.title}
        beside={<Status value={held.status} />}
        sub={held.board_id
          ? (
            <Anchor component={Link} to={`/boards/${held.board_id}`} size="sm">
              {t.workflows.board}
            </Anchor>
          )
          : t.workflows.noBoard}
        right={<Actions held={held} rights={rights} switching={switching} edit={edit} />}
      />
      <Switched result={switching.result} held={held} onClose={switching.forget} />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack gap="lg">
            <Charter held={held} edit={rights.change ? edit : null} />
            <Kpis held={held} may={rights.change} />
            <AttachedAutomations held={held} may={rights.change} />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Stack gap="lg">
            <Deadlines held={held} may={rights.change} />
            <Tasks held={held} />
            <Roster held={held} may={rights.own} />
          </Stack>
        </Grid.Col>
      </Grid>
      {editing ? <EditCharter held={held} onClose={() => setEditing(false)} /> : null}
    </>
  );
}

function Charter({ held, edit }: { held: WorkflowDetail; edit: (() => void) | null }) {
  return (
    <Panel
      title={t.workflows.charter}
      right={edit
        ? (
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<Pencil size={13} />}
            onClick={edit}
            aria-label={t.workflows.editTheCharter}
          >
            {t.workflows.edit}
          </Button>
        )
        : null}
    >
      {held.charter
        ? (
          <Text size="sm" className="wrap-anywhere" style={{ whiteSpace: "pre-wrap" }}>
            {held.charter}
          </Text>
        )
        : <Text size="sm" c="dimmed">{t.workflows.noCharterYetDescribeThe}</Text>}
    </Panel>
  );
}

type ActionProps = {
  held: WorkflowDetail;
  rights: ReturnType<typeof useRights>;
  switching: StatusSwitch;
  edit: () => void;
};

function Actions({ held, rights, switching, edit }: ActionProps) {
  const [deleting, setDeleting] = useState(false);
  return (
    <>
      <CopyAs operations={operations(held)} />
      {rights.change ? switching.button : null}
      {rights.change || rights.own
        ? (
          <Menu position="bottom-end" shadow="md">
            <Menu.Target>
              <ActionIcon variant="default" size="lg" aria-label={t.workflows.more}>
                <Ellipsis size={16} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item leftSection={<FilePenLine size={14} />} onClick={edit}>
                {t.workflows.rename}
              </Menu.Item>
              {held.status === "archived" ? null : (
                <Menu.Item
                  leftSection={<Archive size={14} />}
                  onClick={() => void switching.to("archived")}
                >
                  {t.workflows.archive}
                </Menu.Item>
              )}
              {rights.own
                ? (
                  <Menu.Item
                    color="red"
                    leftSection={<Trash2 size={14} />}
                    onClick={() => setDeleting(true)}
                  >
                    {t.workflows.delete2}
                  </Menu.Item>
                )
                : null}
            </Menu.Dropdown>
          </Menu>
        )
        : null}
      {deleting ? <DeleteForm held={held} onClose={() => setDeleting(false)} /> : null}
    </>
  );
}

const operations = ({ id, status, kpis }: WorkflowDetail) => {
  const path = `/api/v1/workflows/${id}`;
  const next = status === "active" ? "paused" : "active";
  const kpi = {
    name: kpis[0]?.name ?? t.workflows.payingCustomers,
    current: kpis[0]?.current ?? 0,
  };
  return [{
    label: t.workflows.showStatus,
    operation: {
      method: "GET" as const,
      path: `${path}?standing=true`,
      tool: "get_workflow",
      arguments: { workflow_id: id, standing: true },
    },
  }, {
    label: next === "active" ? t.workflows.activateAll : t.workflows.pauseAll,
    operation: {
      method: "POST" as const,
      path: `${path}/status`,
      body: { status: next },
      tool: "set_workflow_status",
      arguments: { workflow_id: id, status: next },
    },
  }, {
    label: t.workflows.reportAValue,
    operation: {
      method: "POST" as const,
      path: `${path}/kpi`,
      body: kpi,
      tool: "set_workflow_kpi",
      arguments: { workflow_id: id, ...kpi },
    },
  }];
};
