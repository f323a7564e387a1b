// Setting a secret: its value is sent to the server and not kept here.

import { Button, Group, Modal, PasswordInput, Stack, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { ProblemNote } from "../../kit/QueryResult";
import { useSubmit } from "../../kit/formErrors";
import { notifyDone } from "../../kit/useAction";
import type { Held } from "./SecretList";

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
    notifyDone(replaced ? `${given.name} has its new value.` : `${given.name} is sealed.`);
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={replaced ? `Replace ${replaced.name}` : "Add a secret"}
      centered
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          <TextInput
            label="Name"
            description={capitals
              ? "Capitals, digits and underscores"
              : "Small letters, digits and underscores"}
            required
            disabled={replaced !== null}
            value={given.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            error={refusal.at("name") ??
              (isTaken ? "It is there already: saving replaces its value." : undefined)}
            className="mono"
            autoComplete="off"
            data-autofocus
          />
          <PasswordInput
            label="Value"
            description="It is never shown again."
            required
            value={given.value}
            onChange={(event) => change({ value: event.currentTarget.value })}
            error={refusal.at("value")}
            autoComplete="new-password"
          />
          <Textarea
            label="What it is for"
            autosize
            maxRows={4}
            value={given.description}
            onChange={(event) => change({ description: event.currentTarget.value })}
            error={refusal.at("description")}
          />
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={busy}>Seal it</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
