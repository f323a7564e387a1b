// The exact bytes to be sent, and the hash that is approved.

import { Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useRawResponse } from "../../api/rawResponse";
import { CopyIcon } from "../../kit/Copy";
import { indentJson, rawValue } from "../../kit/exactJson";
import { Json } from "../../kit/Json";
import { escapeInvisible } from "../../kit/format";
import type { Draft } from "./items";
import { t } from "../../strings";

/** The raw values, if they still belong to this draft. */
function rawArguments(draft: Draft, text: string | undefined): string | null {
  const isThis = text && rawValue(text, "hash") === JSON.stringify(draft.hash);
  const part = isThis ? rawValue(text, "arguments") : null;
  return part && indentJson(part);
}

export function ExactBytes({ draft }: { draft: Draft }) {
  const [open, setOpen] = useState(false);
  const written = useRawResponse(`/api/v1/drafts/${draft.id}`, { enabled: open });
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Text span size="sm" c="dimmed">
          {t.inbox.exactBytes}
          {draft.hash
            ? <>{t.inbox.hash(<span className="mono">{draft.hash.slice(0, 12)}</span>)}</>
            : null}
        </Text>
      </summary>
      <Stack gap="xs" mt="xs">
        <Text size="sm" className="wrap-anywhere">{escapeInvisible(draft.preview)}</Text>
        <Json
          value={rawArguments(draft, written.data) ?? draft.arguments}
          label={t.inbox.whatIsSent}
        />
        {draft.hash
          ? (
            <Group gap={4} wrap="nowrap">
              <Text size="xs" className="mono wrap-anywhere">{draft.hash}</Text>
              <CopyIcon text={draft.hash} label={t.inbox.copyTheHash} />
            </Group>
          )
          : null}
        <Text size="xs" c="dimmed">{t.inbox.theHashCoversTheseValues}</Text>
      </Stack>
    </details>
  );
}
