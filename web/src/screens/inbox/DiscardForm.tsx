// Discarding, with an optional reason for the record.

import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { ProblemNote } from "../../kit/QueryResult";
import { escapeInvisible } from "../../kit/format";

type Props = {
  opened: boolean;
  onClose: () => void;
  title: string;
  text: string;
  work: (reason: string) => Promise<void>;
};

export function DiscardForm({ opened, onClose, title, text, work }: Props) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      centered
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {opened ? <Reason text={text} work={work} onClose={onClose} /> : null}
    </Modal>
  );
}

function Reason({ text, work, onClose }: Pick<Props, "text" | "work" | "onClose">) {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const submit = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await work(reason);
      onClose();
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Stack>
        <Text size="sm" className="wrap-anywhere">{escapeInvisible(text)}</Text>
        <TextInput
          label="Why"
          description="Kept with it, for whoever asks later. It may be left out."
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          maxLength={500}
          data-autofocus
        />
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>Keep it</Button>
          <Button type="submit" color="red.9" loading={busy}>Discard</Button>
        </Group>
      </Stack>
    </form>
  );
}
