// Setting a secret: its value is sent to the server and not kept here.

import { Button, Group, Modal, PasswordInput, Stack, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { ProblemNote } from "../../kit/QueryResult";
import { useSubmit } from "../../kit/formErrors";
import { notifyDone } from "../../kit/useAction";
import type { Held } from "./SecretList";
import { t } from "../../strings";

export type Given = { name: string; value: string; description?: string };

type Props = {
  opened: boolean;
  onClose: () => void;
  /** The secret whose value is replaced; its name is fixed. */
  replaced: Held | null;
  usedNames: string[];
  capitals?: boolean;
  save: (given: Given) => Promise<void>;
};

const EMPTY: Given = { name: "", value: "", description: "" };

export function SecretForm(
  { opened, onClose, replaced, usedNames: taken, capitals = false, save }: Props,
) {
  const [given, setGiven] = useState(EMPTY);
  const { busy, refusal, send, forget } = useSubmit("name", "value", "description");
  useEffect(() => {
    forget();
    setGiven(
      replaced ? { name: replaced.name, value: "", description: replaced.description } : EMPTY,
    );
  }, [opened, replaced, forget]);
  const change = (more: Partial<Given>) => setGiven({ ...given, ...more });
  const isTaken = !replaced && taken.includes(given.name);
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    const kept = { ...given, description: given.description || undefined };
    if (!await send(() => save(kept))) return;
    notifyDone(replaced ? t.secrets.isUpdated(given.name) : t.secrets.isSaved(given.name));
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={replaced ? t.secrets.replace2(replaced.name) : t.secrets.addASecret}
      centered
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          <TextInput
            label={t.secrets.name}
            description={capitals
              ? t.secrets.uppercaseLettersDigitsAnd
              : t.secrets.lowercaseLettersDigitsAnd}
            required
            disabled={replaced !== null}
            value={given.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            error={refusal.at("name") ??
              (isTaken ? t.secrets.itExistsAlreadySavingReplaces : undefined)}
            className="mono"
            autoComplete="off"
            data-autofocus
          />
          <PasswordInput
            label={t.secrets.value}
            description={t.secrets.itIsNeverShownAgain}
            required
            value={given.value}
            onChange={(event) => change({ value: event.currentTarget.value })}
            error={refusal.at("value")}
            autoComplete="new-password"
          />
          <Textarea
            label={t.secrets.description}
            autosize
            maxRows={4}
            value={given.description}
            onChange={(event) => change({ description: event.currentTarget.value })}
            error={refusal.at("description")}
          />
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>{t.secrets.cancel}</Button>
            <Button type="submit" loading={busy}>{t.secrets.save}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
