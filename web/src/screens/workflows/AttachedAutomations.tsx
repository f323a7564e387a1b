// The automations attached to a workflow: their states, attach, create, detach.

import { ActionIcon, Anchor, Button, Group, Menu, Select, Stack, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { Plus, Unlink } from "lucide-react";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useAction } from "../../kit/useAction";
import { Timestamp } from "../../kit/Timestamp";
import { Status } from "../../kit/Status";
import { escapeInvisible, humanize } from "../../kit/format";
import { changeWorkflow } from "./mutations";
import {
  type AttachedAutomation,
  type Template,
  TEMPLATES,
  type WorkflowDetail,
  zoneHere,
} from "./progress";
import { Panel } from "./Panel";
import { t } from "../../strings";

const MOST = 200;

export function AttachedAutomations({ held, may }: { held: WorkflowDetail; may: boolean }) {
  const { busy, act } = useAction();
  const known = api.useQuery("get", "/api/v1/automations", { params: { query: { limit: MOST } } });
  const summaries = new Map(known.data?.items.map((one) => [one.id, one]));
  const ids = held.automations.map((one) => one.automation_id ?? "");
  const attach = (id: string) =>
    void act(() => changeWorkflow(held, { automation_ids: [...ids, id] }), t.workflows.attached);
  const detach = ({ automation_id: id, name }: AttachedAutomation) =>
    void act(
      () => changeWorkflow(held, { automation_ids: ids.filter((one) => one !== id) }),
      t.workflows.isDetached(name),
    );
  const make = (template: Template) =>
    void act(
      () => changeWorkflow(held, { templates: [template], timezone: zoneHere() }),
      t.workflows.createdAndAttachedToThe,
    );
  return (
    <Panel
      title={t.workflows.automations}
      right={may ? <CreateForm held={held} busy={busy} make={make} /> : null}
    >
      <Stack gap="md">
        {held.automations.map((one) => (
          <Row
            key={one.automation_id}
            one={one}
            summary={summaries.get(one.automation_id ?? "")}
            detach={may ? () => detach(one) : null}
            busy={busy}
          />
        ))}
        {held.automations.length
          ? null
          : <Text size="sm" c="dimmed">{t.workflows.attachAutomationsToStartAnd}</Text>}
        {may ? <AttachForm without={ids} busy={busy} attach={attach} /> : null}
      </Stack>
    </Panel>
  );
}

type RowProps = {
  one: AttachedAutomation;
  summary: Schemas["AutomationSummary"] | undefined;
  detach: (() => void) | null;
  busy: boolean;
};

function Row({ one, summary, detach, busy }: RowProps) {
  const last = summary?.last_run;
  const template = TEMPLATES.find(({ value }) => value === one.template);
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start">
      <Stack gap={2} style={{ minWidth: 0 }}>
        <Anchor
          component={Link}
          to={`/automations/${one.automation_id}`}
          fw={600}
          size="sm"
          className="wrap-anywhere"
        >
          {escapeInvisible(one.name ?? "")}
        </Anchor>
        <Text size="sm" c="dimmed" component="div">
          {template ? `${template.label} · ` : ""}
          {last
            ? (
              <>
                <Anchor component={Link} to={`/runs/${last.id}`} size="sm" underline="always">
                  {humanize(last.status)}
                </Anchor>{" "}
                <Timestamp at={last.at} />
              </>
            )
            : t.workflows.noRunsYet}
          {one.resumes ? t.workflows.resumesWithTheProject : ""}
        </Text>
      </Stack>
      <Group gap={4} wrap="nowrap" style={{ flexShrink: 0 }}>
        <Status value={one.state ?? "paused"} />
        {detach
          ? (
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={t.workflows.detach(one.name)}
              title={t.workflows.detach2}
              disabled={busy}
              onClick={detach}
            >
              <Unlink size={15} />
            </ActionIcon>
          )
          : null}
      </Group>
    </Group>
  );
}

type AttachFormProps = { without: string[]; busy: boolean; attach: (id: string) => void };

function AttachForm({ without, busy, attach }: AttachFormProps) {
  const [text, setText] = useState("");
  const [search] = useDebouncedValue(text.trim(), 200);
  const found = api.useQuery("get", "/api/v1/automations", {
    params: { query: { limit: 50, search: search || undefined } },
  }, { placeholderData: (before) => before });
  const data = (found.data?.items ?? []).filter((one) => !without.includes(one.id))
    .map((one) => ({ value: one.id, label: one.name }));
  return (
    <Select
      size="sm"
      aria-label={t.workflows.attachAnAutomation}
      placeholder={t.workflows.attachAnAutomation}
      searchable
      disabled={busy}
      data={data}
      value={null}
      searchValue={text}
      onSearchChange={setText}
      nothingFoundMessage={t.workflows.noMatchingAutomations}
      onChange={(id) => {
        setText("");
        if (id) attach(id as string);
      }}
    />
  );
}

type CreateFormProps = { held: WorkflowDetail; busy: boolean; make: (template: Template) => void };

/** Only for a workflow with a board: they write to it. */
function CreateForm({ held, busy, make }: CreateFormProps) {
  const made = new Set(
    held.automations.filter((one) => one.state !== "archived").map((one) => one.template),
  );
  const left = TEMPLATES.filter(({ value }) => !made.has(value));
  if (!held.board_id || !left.length) return null;
  return (
    <Menu position="bottom-end" shadow="md" width={300}>
      <Menu.Target>
        <Button
          variant="subtle"
          size="compact-sm"
          loading={busy}
          leftSection={<Plus size={13} />}
        >
          {t.workflows.createOne}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {left.map((one) => (
          <Menu.Item key={one.value} onClick={() => make(one.value)}>
            <Text size="sm" fw={600}>{escapeInvisible(one.label)}</Text>
            <Text size="xs" c="dimmed">{one.description}</Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
