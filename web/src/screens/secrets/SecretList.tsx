// The secrets: names and dates, never a value.

import { Button, Card, Group, Stack, Text } from "@mantine/core";
import { Timestamp } from "../../kit/Timestamp";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

export type Held = { id: string; name: string; description: string; updated_at: string };

type Props = {
  held: Held[];
  onReplace: ((held: Held) => void) | null;
  onRemove: ((name: string) => Promise<void>) | null;
};

export function SecretList({ held, onReplace, onRemove }: Props) {
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const remove = async (name: string) => {
    const sure = await confirm({
      title: t.secrets.remove(name),
      message: t.secrets.youCannotUndoThisRuns,
      yes: t.secrets.remove2,
      dangerous: true,
    });
    if (sure && onRemove) await act(() => onRemove(name), t.secrets.isRemoved(name));
  };
  return (
    <Card withBorder radius="lg" p={0}>
      {held.map((one, at) => (
        <Group
          key={one.id}
          px="md"
          py="sm"
          justify="space-between"
          style={at ? { borderTop: "1px solid var(--line)" } : undefined}
        >
          <Stack gap={2} style={{ minWidth: 0 }}>
            <Text fw={600} className="mono wrap-anywhere">{escapeInvisible(one.name)}</Text>
            <Text size="sm" c="dimmed" component="div">
              {t.secrets.lastWritten(
                one.description ? `${one.description} · ` : "",
                <Timestamp at={one.updated_at} />,
              )}
            </Text>
          </Stack>
          <Group gap="xs">
            {onReplace
              ? (
                <Button
                  variant="default"
                  size="xs"
                  onClick={() => onReplace(one)}
                  aria-label={t.secrets.replace2(one.name)}
                >
                  {t.secrets.replace}
                </Button>
              )
              : null}
            {onRemove
              ? (
                <Button
                  variant="subtle"
                  color="red"
                  size="xs"
                  loading={busy}
                  onClick={() => void remove(one.name)}
                  aria-label={t.secrets.remove4(one.name)}
                >
                  {t.secrets.remove3}
                </Button>
              )
              : null}
          </Group>
        </Group>
      ))}
    </Card>
  );
}
