// Adding a link to an external source: its type and its location.

import { Button, Group, Modal, NativeSelect, Stack, Switch, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { ProblemNote } from "../../kit/QueryResult";
import { useLinkKinds } from "./linkKinds";
import { t } from "../../strings";

type Props = { boardId: string; opened: boolean; close: () => void };

export function NewLink({ boardId, opened, close }: Props) {
  const kinds = useLinkKinds();
  const [chosen, setChosen] = useState("");
  const [name, setName] = useState("");
  const [ref, setRef] = useState<Record<string, string>>({});
  const [own, setOwn] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const known = kinds.find((one) => one.kind === chosen) ?? kinds[0];
  if (!known) return null;
  const kind = known.kind;
  const provider = known.connection === "needed" || (known.connection === "used" && own)
    ? known.source
    : null;
  const usual = [ref.owner, ref.repo].filter(Boolean).join("/") || known.label;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    const given = Object.fromEntries(
      known.fields.map(({ name: field }) => [field, (ref[field] ?? "").trim()]).filter((
        [, value],
      ) => value),
    );
    try {
      await client.POST("/api/v1/boards/{board_id}/links", {
        params: { path: { board_id: boardId } },
        body: {
          kind,
          ref: given as Record<string, never>,
          display_name: name.trim() || usual,
          ...(provider ? { integration_provider: provider } : {}),
        },
      });
      await refresh("/api/v1/boards");
      setRef({});
      setName("");
      close();
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened={opened} onClose={close} title={t.boards.linkAnExternalSource} centered>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <NativeSelect
            label={t.boards.source}
            value={kind}
            data={kinds.map((one) => ({ value: one.kind, label: one.label }))}
            onChange={(event) => setChosen(event.currentTarget.value)}
          />
          {known.fields.map((field) => (
            <TextInput
              key={field.name}
              label={field.label}
              placeholder={field.placeholder}
              required={field.required}
              value={ref[field.name] ?? ""}
              onChange={({ currentTarget }) =>
                setRef((before) => ({
                  ...before,
                  [field.name]: currentTarget.value,
                }))}
            />
          ))}
          <TextInput
            label={t.boards.displayName}
            placeholder={usual}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {known.connection === "used"
            ? (
              <Switch
                label={t.boards.readItWithMyConnection}
                checked={own}
                onChange={(event) => setOwn(event.currentTarget.checked)}
              />
            )
            : null}
          <Text size="sm" c="dimmed">{t.boards.aLinkNeverWritesTo}</Text>
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>{t.boards.cancel}</Button>
            <Button type="submit" loading={busy}>{t.boards.link}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
