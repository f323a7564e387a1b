// Previews of issues, files, requests, rows, and a fallback for everything else.

import { Badge, Box, Group, Stack, Text } from "@mantine/core";
import { CircleDot, FileText } from "lucide-react";
import { Json } from "../kit/Json";
import { capitalize, escapeInvisible, humanize } from "../kit/format";
import { listed, partitionLines, type Shape } from "./shape";
import { drawn, Files, Lines, TextLines } from "./Value";
import { t } from "../strings";

type Props = { shape: Shape };

export function IssueCard({ shape }: Props) {
  const [{ owner, repo, number, labels, assignees }, others] = partitionLines(
    shape.lines,
    ["owner", "repo", "number", "labels", "assignees"],
  );
  const people = listed(assignees);
  return (
    <Stack gap="sm" className="delivered" p="lg">
      {owner && repo
        ? (
          <Text size="sm" c="dimmed" className="mono">
            {escapeInvisible(`${owner}/${repo}${number ? `#${number}` : ""}`)}
          </Text>
        )
        : null}
      <Group gap={8} wrap="nowrap" align="flex-start">
        <CircleDot
          size={20}
          color="var(--good)"
          aria-hidden
          style={{ marginTop: 3, flex: "none" }}
        />
        <Text fw={650} size="lg" className="wrap-anywhere" dir="auto">
          {escapeInvisible(shape.title ?? t.previews.issue)}
        </Text>
      </Group>
      {shape.texts.map(({ name, value }) => <TextLines key={name} text={String(value)} />)}
      {labels
        ? (
          <Group gap={6}>
            {listed(labels).map((one) => (
              <Badge key={one} variant="light" tt="none" radius="sm">
                {escapeInvisible(one)}
              </Badge>
            ))}
          </Group>
        )
        : null}
      <Lines
        lines={[
          ...(people.length
            ? [{ name: t.previews.assignedTo, value: <TextLines text={people.join(", ")} /> }]
            : []),
          ...drawn(others),
        ]}
      />
      <Files files={shape.files} />
    </Stack>
  );
}

export function FileCard({ shape }: Props) {
  return (
    <Stack gap="sm" className="delivered" p="lg">
      <Group gap={8} wrap="nowrap">
        <FileText size={18} aria-hidden />
        <Text fw={650} className="wrap-anywhere">
          {escapeInvisible(shape.title ?? t.previews.file)}
        </Text>
      </Group>
      <Lines lines={drawn(shape.lines)} />
      {shape.texts.map(({ name, value }) => <TextLines key={name} text={String(value)} mono />)}
      <Files files={shape.files} />
    </Stack>
  );
}

const asText = (value: unknown) =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

export function RequestCard({ shape }: Props) {
  const [{ method, url }, others] = partitionLines(shape.lines, ["method", "url"]);
  return (
    <Stack gap="sm" className="delivered" p="lg">
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Badge variant="light" radius="sm" className="mono" miw="fit-content">
          {escapeInvisible(String(method ?? "GET"))}
        </Badge>
        <Text size="sm" className="mono wrap-anywhere">{escapeInvisible(String(url ?? ""))}</Text>
      </Group>
      <Lines lines={drawn(others)} />
      {shape.texts.map(({ name, value }) => (
        <Json key={name} value={asText(value)} label={capitalize(humanize(name))} />
      ))}
      <Files files={shape.files} />
    </Stack>
  );
}

/** A row to be written: one line per cell. */
export function RowsCard({ shape }: Props) {
  return (
    <Stack gap="sm" className="delivered" p="lg">
      {shape.title
        ? <Text fw={650} className="wrap-anywhere">{escapeInvisible(shape.title)}</Text>
        : null}
      <Lines lines={drawn(shape.lines)} />
      {shape.texts.flatMap(({ name, value }) =>
        (Array.isArray(value) ? value : [value]).map((row, at) => (
          <Box key={`${name}${at}`} className="bubble">
            {row && typeof row === "object"
              ? (
                <Lines
                  lines={drawn(
                    Object.entries(row).map(([key, cell]) => ({
                      name: key,
                      value: cell,
                    })),
                  )}
                />
              )
              : <TextLines text={String(row)} />}
          </Box>
        ))
      )}
      <Files files={shape.files} />
    </Stack>
  );
}

export function FieldsCard({ shape }: Props) {
  return (
    <Stack gap="sm" className="delivered" p="lg">
      {shape.rest.length
        ? <Lines lines={drawn(shape.rest)} />
        : <Text size="sm" c="dimmed">{t.previews.noArguments}</Text>}
      <Files files={shape.files} />
    </Stack>
  );
}
