// Creating a board: a name and its first columns. The rest can be added later.

import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { ProblemNote } from "../../kit/QueryResult";
import { asColumns, ColumnFields, NEW_COLUMN, type WrittenColumn } from "./ColumnFields";
import { t } from "../../strings";

export function NewBoard({ opened, close }: { opened: boolean; close: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [columns, setColumns] = useState<WrittenColumn[]>([NEW_COLUMN]);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const { data } = await client.POST("/api/v1/boards", {
        body: {
          name: name.trim(),
          ...(description.trim() ? { description: description.trim() } : {}),
          datasets: [{ name: "default", columns: asColumns(columns) }],
        },
      });
      void refresh("/api/v1/boards");
      if (data) await navigate({ to: "/boards/$boardId", params: { boardId: data.id } });
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened={opened} onClose={close} title={t.boards.newBoard} size="lg" centered>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <TextInput
            label={t.boards.name}
            required
            data-autofocus
            placeholder="Contacts"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <TextInput
            label={t.boards.description}
            placeholder={t.boards.peopleWeTalkTo}
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
          />
          <Text size="sm" c="dimmed">{t.boards.columnsDefineTheTypeOf}</Text>
          <ColumnFields columns={columns} set={setColumns} />
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>{t.boards.cancel}</Button>
            <Button type="submit" loading={busy} disabled={!name.trim()}>
              {t.boards.createBoard}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
