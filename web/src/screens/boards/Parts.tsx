// The other parts of a board: forms, a dashboard, and skills for agents.

import {
  Badge,
  Button,
  Card,
  Code,
  Group,
  Modal,
  Stack,
  Text,
  Textarea,
  Title,
} from "@mantine/core";
import { LayoutDashboard } from "lucide-react";
import { useState } from "react";
import { type Answer, api, client, refresh } from "../../api/client";
import { notifyDone, useAction } from "../../kit/useAction";
import { QueryResult } from "../../kit/QueryResult";
import { useConfirm } from "../../kit/Confirm";
import { Empty } from "../../kit/Empty";
import { escapeInvisible } from "../../kit/format";
import "./grid.css";
import { RowForm } from "./RowForm";
import { type BoardShown, columnsOf } from "./rows";
import { t } from "../../strings";

type Form = Answer<"list_board_forms">["forms"][number];
type Skill = Answer<"list_board_skills">["skills"][number];
type Props = { board: BoardShown; mayEdit: boolean };

export function Parts({ board, mayEdit }: Props) {
  const path = { board_id: board.id };
  const forms = api.useQuery("get", "/api/v1/boards/{board_id}/forms", { params: { path } });
  const skills = api.useQuery("get", "/api/v1/boards/{board_id}/skills", { params: { path } });
  const nothing = !board.forms.length && !board.skills.length && !board.dashboard;
  return (
    <Stack gap="lg">
      {nothing
        ? (
          <Empty icon={LayoutDashboard} title={t.boards.noFormsOrDashboardYet}>
            {t.boards.aBoardCanAlsoContain}
          </Empty>
        )
        : null}
      <QueryResult of={forms} lines={2}>
        {({ forms: all }) => (
          <>
            {all.map((form) => (
              <FormCard key={form.name} form={form} board={board} mayEdit={mayEdit} />
            ))}
          </>
        )}
      </QueryResult>
      <Dashboard board={board} mayEdit={mayEdit} />
      <QueryResult of={skills} lines={1}>
        {({ skills: all }) => (
          <>
            {all.map((skill) => (
              <SkillCard
                key={skill.name}
                skill={skill}
                boardId={board.id}
                mayEdit={mayEdit}
              />
            ))}
          </>
        )}
      </QueryResult>
    </Stack>
  );
}

function FormCard({ form, board, mayEdit }: Props & { form: Form }) {
  const [filling, setFilling] = useState(false);
  const dataset = form.dataset ?? "default";
  const schema = board.schema.datasets.find(({ name }) => name === dataset);
  const known = columnsOf(schema, []);
  const fields = (form.fields ?? []).map((field) => {
    const column = known.find(({ key }) => key === field.key);
    return {
      column: column ??
        { key: field.key, label: field.label ?? field.key, type: "text" as const },
      label: field.label ?? column?.label ?? field.key,
      help: field.help,
      required: field.required,
    };
  });
  const send = async (row: Record<string, unknown>) => {
    await client.POST("/api/v1/boards/{board_id}/rows", {
      params: { path: { board_id: board.id } },
      body: { dataset, rows: [row as never] },
    });
    setFilling(false);
    notifyDone(t.boards.thankYouYourEntryWas(dataset));
    await refresh("/api/v1/boards");
  };
  const title = form.title || form.name;
  return (
    <Card withBorder radius="lg" p="lg">
      <Group justify="space-between">
        <div>
          <Group gap="xs">
            <Title order={2} size="h5">{title}</Title>
            <Badge variant="light" tt="none">{t.boards.form}</Badge>
          </Group>
          <Text size="sm" c="dimmed">
            {form.description ||
              `${fields.map(({ label }) => label).join(", ")} → ${dataset}`}
          </Text>
        </div>
        {mayEdit
          ? <Button variant="default" onClick={() => setFilling(true)}>{t.boards.fillIn}</Button>
          : null}
      </Group>
      <Modal opened={filling} onClose={() => setFilling(false)} title={title} centered>
        {form.description ? <Text size="sm" c="dimmed" mb="md">{form.description}</Text> : null}
        <RowForm fields={fields} send={send} word={t.boards.send} />
      </Modal>
    </Card>
  );
}

function Dashboard({ board, mayEdit }: Props) {
  const [writing, setWriting] = useState(false);
  if (!board.dashboard && !mayEdit) return null;
  return (
    <Card withBorder radius="lg" p="lg">
      <Group justify="space-between" mb={board.dashboard ? "md" : 0}>
        <Title order={2} size="h5">{t.boards.dashboard}</Title>
        {mayEdit
          ? (
            <Button
              variant="default"
              size="compact-sm"
              onClick={() => setWriting(true)}
            >
              {board.dashboard ? t.boards.edit : t.boards.create}
            </Button>
          )
          : null}
      </Group>
      {board.dashboard
        ? (
          <iframe
            className="board-dashboard"
            title={t.boards.dashboardOf(board.name)}
            sandbox=""
            referrerPolicy="no-referrer"
            src={`/api/v1/boards/${board.id}/dashboard.html`}
            key={board.dashboard.version}
          />
        )
        : <Text size="sm" c="dimmed">{t.boards.oneHtmlDocumentWithIts}</Text>}
      <Modal
        opened={writing}
        onClose={() => setWriting(false)}
        title={t.boards.dashboard}
        size="xl"
        centered
      >
        <WriteDashboard board={board} close={() => setWriting(false)} />
      </Modal>
    </Card>
  );
}

function WriteDashboard({ board, close }: { board: BoardShown; close: () => void }) {
  const path = { board_id: board.id };
  const now = api.useQuery("get", "/api/v1/boards/{board_id}/dashboard", { params: { path } }, {
    enabled: board.dashboard !== null,
  });
  const [written, setWritten] = useState<string | null>(null);
  const { busy, act } = useAction();
  const html = written ?? now.data?.html ?? "";
  const save = async () => {
    const kept = await act(async () => {
      await client.PUT("/api/v1/boards/{board_id}/dashboard", {
        params: { path },
        body: { html },
      });
      await refresh("/api/v1/boards");
    }, t.boards.theDashboardIsSaved);
    if (kept) close();
  };
  return (
    <Stack>
      <Textarea
        label="HTML"
        autosize
        minRows={12}
        maxRows={24}
        value={html}
        onChange={(event) => setWritten(event.currentTarget.value)}
        styles={{
          input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 13 },
        }}
      />
      <Group justify="flex-end">
        <Button loading={busy} disabled={!html.trim()} onClick={() => void save()}>
          {t.boards.save}
        </Button>
      </Group>
    </Stack>
  );
}

function SkillCard(
  { skill, boardId, mayEdit }: { skill: Skill; boardId: string; mayEdit: boolean },
) {
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const remove = async () => {
    const sure = await confirm({
      title: t.boards.deleteTheSkill(skill.name),
      message: t.boards.itsVersionsStayAndCan,
      yes: t.boards.delete,
      dangerous: true,
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/boards/{board_id}/skills/{name}", {
        params: { path: { board_id: boardId, name: skill.name } },
      });
      await refresh("/api/v1/boards");
    }, t.boards.theSkillIsDeleted);
  };
  return (
    <Card withBorder radius="lg" p="lg">
      <Group justify="space-between" mb="xs">
        <Group gap="xs">
          <Title order={2} size="h5">{escapeInvisible(skill.name)}</Title>
          <Badge variant="light" color="gray" tt="none">{t.boards.skill}</Badge>
        </Group>
        {mayEdit
          ? (
            <Button
              size="compact-sm"
              variant="subtle"
              color="red"
              loading={busy}
              aria-label={t.boards.deleteTheSkill2(skill.name)}
              onClick={() => void remove()}
            >
              {t.boards.delete}
            </Button>
          )
          : null}
      </Group>
      {skill.description ? <Text size="sm" mb="xs">{skill.description}</Text> : null}
      <Code block style={{ whiteSpace: "pre-wrap" }}>{escapeInvisible(skill.prompt ?? "")}</Code>
      {skill.allowed_tools?.length
        ? (
          <Text size="xs" c="dimmed" mt="xs">
            {t.boards.canCall(skill.allowed_tools.join(", "))}
          </Text>
        )
        : null}
    </Card>
  );
}
