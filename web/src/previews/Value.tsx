// A value as text; invisible and bidirectional characters are escaped.

import { Box, Group, Stack, Text } from "@mantine/core";
import { Paperclip } from "lucide-react";
import type { ReactNode } from "react";
import { Json } from "../kit/Json";
import { capitalize, escapeInvisible, humanize } from "../kit/format";
import { type File, formatBytes, type Line } from "./shape";
import { t } from "../strings";

const isTextList = (given: unknown): given is string[] =>
  Array.isArray(given) && given.every((one) => typeof one === "string");

export function Value({ of, name }: { of: unknown; name: string }) {
  if (typeof of === "string") return <TextLines text={of} />;
  if (isTextList(of)) {
    return (
      <Text span size="sm" display="block" className="wrap-anywhere">
        {of.map((one, at) => <bdi key={`${at}${one}`}>{at ? ", " : ""}{escapeInvisible(one)}</bdi>)}
      </Text>
    );
  }
  if (typeof of === "number" || typeof of === "boolean") {
    return <Text span size="sm" display="block">{String(of)}</Text>;
  }
  return <Json value={of} label={capitalize(humanize(name))} most={240} />;
}

/** Text with its line breaks. */
export function TextLines({ text, mono }: { text: string; mono?: boolean }) {
  return (
    <Text
      span
      size="sm"
      display="block"
      className={mono ? "mono wrap-anywhere" : "wrap-anywhere"}
      style={{ whiteSpace: "pre-wrap" }}
      dir="auto"
    >
      {escapeInvisible(text)}
    </Text>
  );
}

/** Name and value, in two columns that become one on a phone. */
export function Lines({ lines }: { lines: { name: string; label?: string; value: ReactNode }[] }) {
  if (!lines.length) return null;
  return (
    <Box component="dl" m={0} className="facts">
      {lines.map(({ name, label, value }) => (
        <Box key={name} className="fact">
          <Text component="dt" size="sm" c="dimmed">
            {label ?? escapeInvisible(capitalize(humanize(name)))}
          </Text>
          <Box component="dd" m={0} style={{ minWidth: 0 }}>{value}</Box>
        </Box>
      ))}
    </Box>
  );
}

export const drawn = (lines: Line[]) =>
  lines.map(({ name, value }) => ({ name, value: <Value of={value} name={name} /> }));

export function Files({ files }: { files: File[] }) {
  if (!files.length) return null;
  return (
    <Stack
      gap={6}
      component="ul"
      m={0}
      p={0}
      style={{ listStyle: "none" }}
      aria-label={t.previews.files}
    >
      {files.map(({ filename, mimeType, bytes }, at) => (
        <Group key={`${at}${filename}`} component="li" gap={8} wrap="nowrap">
          <Paperclip size={14} aria-hidden />
          <Text size="sm" className="wrap-anywhere">
            {escapeInvisible(filename)}
            <Text span c="dimmed" size="sm">
              {` · ${escapeInvisible(mimeType)}${bytes === null ? "" : ` · ${formatBytes(bytes)}`}`}
            </Text>
          </Text>
        </Group>
      ))}
    </Stack>
  );
}
