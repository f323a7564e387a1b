// Discarding, with an optional reason for the record.

import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { ProblemNote } from "../../kit/QueryResult";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

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
      closeButtonProps={{ "aria-label": t.inbox.close }}
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
          label={t.inbox.reason}
          description={t.inbox.storedWithTheDraftOptional}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          maxLength={500}
          data-autofocus
        />
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>{t.inbox.keepDraft}</Button>
          <Button type="submit" color="red.9" loading={busy}>{t.inbox.discard}</Button>
        </Group>
      </Stack>
    </form>
  );
}
