// A notification with an undo button.

import { Button, Group, Text } from "@mantine/core";
import { useAction } from "../../kit/useAction";
import { t } from "../../strings";

export function Undo({ message: text, undo }: { message: string; undo: () => Promise<unknown> }) {
  const { busy, act } = useAction();
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm">{text}</Text>
      <Button
        size="compact-sm"
        variant="default"
        loading={busy}
        onClick={() => void act(undo)}
      >
        {t.boards.undo}
      </Button>
    </Group>
  );
}
