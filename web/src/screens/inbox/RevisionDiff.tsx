// The diff of two draft revisions, field by field and word by word.

import { Box, Stack, Text } from "@mantine/core";
import { capitalize, escapeInvisible, humanize } from "../../kit/format";
import { type Change, formatValue, pieces } from "./edits";
import "./inbox.css";
import { t } from "../../strings";

export function RevisionDiff({ changes }: { changes: Change[] }) {
  return (
    <Stack
      gap="sm"
      component="ul"
      m={0}
      p={0}
      style={{ listStyle: "none" }}
      aria-label={t.inbox.whatChanges}
    >
      {changes.map(({ name, before, after }) => (
        <Box component="li" key={name}>
          <Text size="xs" c="dimmed" fw={600} mb={2}>{capitalize(humanize(name))}</Text>
          <Text
            size="sm"
            className="wrap-anywhere"
            style={{ whiteSpace: "pre-wrap" }}
            component="div"
            dir="auto"
          >
            {pieces(formatValue(before), formatValue(after)).map(({ text, side }, at) =>
              side === "same"
                ? <span key={at}>{escapeInvisible(text)}</span>
                : side === "out"
                ? <del key={at} className="was">{escapeInvisible(text)}</del>
                : <ins key={at} className="is">{escapeInvisible(text)}</ins>
            )}
          </Text>
        </Box>
      ))}
    </Stack>
  );
}
