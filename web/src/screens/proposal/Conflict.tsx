// A conflict: somebody else continued the proposal. The local edits are shown, and both are
// offered.

import { Alert, Button, Group, List, Stack, Text } from "@mantine/core";
import { GitMerge } from "lucide-react";
import { describePointer } from "../../form/pointers";
import { escapeInvisible } from "../../kit/format";
import type { Edit } from "../../review/edits";
import { t } from "../../strings";

const LONGEST = 160;

function formatValue({ value, remove }: Edit): string {
  if (remove) return t.proposal.removed;
  const spelled = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return escapeInvisible(spelled.length > LONGEST ? `${spelled.slice(0, LONGEST)}…` : spelled);
}

export function EditList({ edits, definition }: { edits: Edit[]; definition: unknown }) {
  return (
    <List size="sm" spacing={4} className="wrap-anywhere">
      {edits.map((one) => (
        <List.Item key={one.pointer}>
          {describePointer(definition, one.pointer)}:{" "}
          <span className="mono">{formatValue(one)}</span>
        </List.Item>
      ))}
    </List>
  );
}

type Props = { parked: Edit[]; definition: unknown; onMine: () => void; onTheirs: () => void };

export function Conflict({ parked, definition, onMine, onTheirs }: Props) {
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<GitMerge size={16} />}
      title={t.proposal.someoneChangedThisProposal}
      role="alert"
    >
      <Stack gap="sm">
        <Text size="sm">{t.proposal.theirVersionIsShownBelow}</Text>
        <EditList edits={parked} definition={definition} />
        <Group gap="xs">
          <Button size="compact-md" onClick={onMine}>{t.proposal.applyMyChanges}</Button>
          <Button size="compact-md" variant="default" onClick={onTheirs}>
            {t.proposal.keepTheirs}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
