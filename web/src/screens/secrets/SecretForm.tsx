// Writing a secret: its value leaves this form for the vault and is not kept here.

import { Button, Group, Modal, PasswordInput, Stack, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { byPointer, Problem } from "../../api/problem";
import { ProblemNote } from "../../kit/Asked";
import { shareOut } from "../../kit/refusal";
import { sayDone } from "../../kit/acting";
import type { Held } from "./SecretList";

export type Given = { name: string; value: string; description?: string };

type Props = {
  opened: boolean;
  onClose: () => void;
  /** A secret that gets a new value, under the name it has. */
  replaced: Held | null;
  taken: string[];
  capitals?: boolean;
  save: (given: Given) => Promise<void>;
};

const EMPTY: Given = { name: "", value: "", description: "" };

export function SecretForm({ opened, onClose, replaced, taken, capitals = false, save }: Props) {
  const [given, setGiven] = useState(EMPTY);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setProblem(null);
    setGiven(
      replaced ? { name: replaced.name, value: "", description: replaced.description } : EMPTY,
    );
  }, [opened, replaced]);
  const change = (more: Partial<Given>) => setGiven({ ...given, ...more });
  const errors = problem instanceof Problem ? byPointer(problem.findings) : {};
  const { rest } = shareOut(problem, ["name", "value", "description"]);
  const isTaken = !replaced && taken.includes(given.name);
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await save({ ...given, description: given.description || undefined });
      sayDone(replaced ? `${given.name} has its new value.` : `${given.name} is sealed.`);
      onClose();
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
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
            error={errors["/name"] ??
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
            error={errors["/value"]}
            autoComplete="new-password"
          />
          <Textarea
            label="What it is for"
            autosize
            maxRows={4}
            value={given.description}
            onChange={(event) => change({ description: event.currentTarget.value })}
            error={errors["/description"]}
          />
          {rest ? <ProblemNote problem={rest} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>Cancel</Button>
            <Button type="submit" loading={busy}>Seal it</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
