// Board settings: its name, the column constraints of its datasets, and archiving.

import { Button, Card, Group, NativeSelect, Stack, Text, TextInput, Title } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { notifyDone, useAction } from "../../kit/useAction";
import { ProblemNote } from "../../kit/QueryResult";
import { useConfirm } from "../../kit/Confirm";
import { asColumns, ColumnFields, type WrittenColumn } from "./ColumnFields";
import type { BoardShown, Dataset } from "./rows";
import { t } from "../../strings";

type Props = { board: BoardShown; mayEdit: boolean };
const ONE = "/api/v1/boards/{board_id}" as const;

export function Setup({ board, mayEdit }: Props) {
  const [chosen, setChosen] = useState("default");
  const datasets = board.schema.datasets;
  const dataset = datasets.find(({ name }) => name === chosen) ?? datasets[0];
  if (!mayEdit) return <ReadOnly datasets={datasets} />;
  return (
    <Stack gap="md" maw={720}>
      <Names key={board.updated_at} board={board} />
      <Card withBorder radius="lg" p="lg">
        <Group justify="space-between" mb="md" align="flex-end">
          <Title order={2} size="h4">{t.boards.columns}</Title>
          {datasets.length > 1
            ? (
              <NativeSelect
                aria-label={t.boards.dataset}
                value={dataset?.name}
                data={datasets.map(({ name }) => name)}
                onChange={(event) => setChosen(event.currentTarget.value)}
              />
            )
            : null}
        </Group>
        {dataset
          ? (
            <Columns
              key={`${dataset.name}${dataset.version}`}
              boardId={board.id}
              dataset={dataset}
            />
          )
          : null}
      </Card>
      <NewDataset boardId={board.id} added={setChosen} />
      <ArchiveBoard board={board} />
    </Stack>
  );
}

function ReadOnly({ datasets }: { datasets: Dataset[] }) {
  return (
    <Stack>
      {datasets.map(({ name, columns }) => (
        <Card withBorder radius="lg" key={name}>
          <Title order={2} size="h5" mb="xs">{name}</Title>
          <Text size="sm" c="dimmed">
            {columns.map(({ label, key, field_type }) => `${label ?? key} (${field_type})`).join(
              ", ",
            ) ||
              t.boards.noColumnsRowsCanHave}
          </Text>
        </Card>
      ))}
    </Stack>
  );
}

function Names({ board }: { board: BoardShown }) {
  const [name, setName] = useState(board.name);
  const [description, setDescription] = useState(board.description);
  const { busy, act } = useAction();
  const save = async () => {
    await client.PATCH(ONE, {
      params: { path: { board_id: board.id } },
      body: { name, description },
    });
    await refresh("/api/v1/boards");
  };
  return (
    <Card withBorder radius="lg" p="lg">
      <Stack gap="sm">
        <Title order={2} size="h4">{t.boards.name}</Title>
        <TextInput
          label={t.boards.name}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          label={t.boards.description}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <Group justify="flex-end">
          <Button
            loading={busy}
            disabled={!name.trim() ||
              (name === board.name && description === board.description)}
            onClick={() => void act(save, t.boards.saved)}
          >
            {t.boards.save2}
          </Button>
        </Group>
      </Stack>
    </Card>
  );
}

function Columns({ boardId, dataset }: { boardId: string; dataset: Dataset }) {
  const [columns, setColumns] = useState<WrittenColumn[]>(() =>
    dataset.columns.map((one) => ({
      key: one.key,
      label: one.label ?? one.key,
      type: one.field_type,
      options: (one.options ?? []).join(", "),
    }))
  );
  const [key, setKey] = useState(dataset.dedupe_key_field ?? "");
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const changed = {
        name: dataset.name,
        columns: asColumns(columns),
        dedupe_key_field: key || null,
      };
      await client.PATCH(ONE, {
        params: { path: { board_id: boardId } },
        body: { datasets: [changed] },
      });
      notifyDone(t.boards.theColumnsAreSavedThe);
      await refresh("/api/v1/boards");
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  const named = asColumns(columns);
  return (
    <Stack gap="sm">
      <ColumnFields columns={columns} set={setColumns} />
      <NativeSelect
        label={t.boards.uniqueKey}
        description={t.boards.aRowWhoseKeyAlready}
        value={key}
        data={[
          { value: "", label: t.boards.noneEveryRowIsNew },
          ...named.map((one) => ({ value: one.key, label: one.label })),
          ...(key && !named.some((one) => one.key === key) ? [key] : []),
        ]}
        onChange={(event) => setKey(event.currentTarget.value)}
      />
      {problem ? <ProblemNote problem={problem} /> : null}
      <Group justify="flex-end">
        <Button loading={busy} onClick={() => void save()}>{t.boards.saveColumns}</Button>
      </Group>
    </Stack>
  );
}

function NewDataset({ boardId, added }: { boardId: string; added: (name: string) => void }) {
  const [name, setName] = useState("");
  const { busy, act } = useAction();
  const add = async () => {
    const path = { board_id: boardId };
    await client.PATCH(ONE, { params: { path }, body: { datasets: [{ name: name.trim() }] } });
    await refresh("/api/v1/boards");
    added(name.trim());
    setName("");
  };
  return (
    <Card withBorder radius="lg" p="lg">
      <Title order={2} size="h4" mb="sm">{t.boards.newDataset}</Title>
      <Group align="flex-end" gap="xs">
        <TextInput
          label={t.boards.name}
          placeholder="contacts"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          style={{ flex: 1 }}
        />
        <Button
          variant="default"
          loading={busy}
          disabled={!name.trim()}
          onClick={() => void act(add, t.boards.theDatasetIsCreated)}
        >
          {t.boards.add}
        </Button>
      </Group>
    </Card>
  );
}

function ArchiveBoard({ board }: { board: BoardShown }) {
  const confirm = useConfirm();
  const navigate = useNavigate();
  const { busy, act } = useAction();
  const archive = async () => {
    const sure = await confirm({
      title: t.boards.archiveThisBoard,
      message: t.boards.itIsHiddenFromThe,
      yes: t.boards.archive,
    });
    if (!sure) return;
    const done = await act(
      () => client.DELETE(ONE, { params: { path: { board_id: board.id } } }),
      t.boards.theBoardIsArchived,
    );
    if (done) {
      await refresh("/api/v1/boards");
      await navigate({ to: "/boards" });
    }
  };
  return (
    <Group>
      <Button variant="default" loading={busy} onClick={() => void archive()}>
        {t.boards.archiveBoard}
      </Button>
    </Group>
  );
}
