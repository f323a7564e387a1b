// The columns of a dataset as editable lines: name, type, and the options of a select.

import { ActionIcon, Button, Card, Group, NativeSelect, Stack, TextInput } from "@mantine/core";
import { Plus, X } from "lucide-react";
import type { FieldType } from "./rows";
import { t } from "../../strings";

export type WrittenColumn = {
  key: string;
  label: string;
  type: FieldType;
  options: string;
  old?: boolean;
};

export const TYPES: { value: FieldType; label: string }[] = [
  { value: "text", label: t.boards.text },
  { value: "number", label: t.boards.number },
  { value: "date", label: t.boards.date },
  { value: "select", label: t.boards.select },
  { value: "tags", label: t.boards.tags },
  { value: "user", label: t.boards.person },
  { value: "richtext", label: t.boards.longText },
];

/** A column key derived from its title: "Due date" → "due_date". */
export const keyFrom = (label: string) =>
  label.trim().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_+|_+$/g, "");

export const optionsFrom = (
  text: string,
) => [...new Set(text.split(",").map((one) => one.trim()).filter(Boolean))];

/** Columns as a request body; lines without a name are omitted. */
export function asColumns(written: WrittenColumn[]) {
  return written.filter(({ label }) => label.trim()).map(({ key, label, type, options }) => ({
    key: key || keyFrom(label) || label.trim(),
    label: label.trim(),
    field_type: type,
    ...(type === "select" ? { options: optionsFrom(options) } : {}),
  }));
}

export const NEW_COLUMN: WrittenColumn = { key: "", label: "", type: "text", options: "" };

type Props = { columns: WrittenColumn[]; set: (columns: WrittenColumn[]) => void };

export function ColumnFields({ columns, set }: Props) {
  const change = (at: number, more: Partial<WrittenColumn>) =>
    set(columns.map((one, index) => index === at ? { ...one, ...more } : one));
  return (
    <Stack gap="xs">
      {columns.map((column, at) => (
        <Card key={at} withBorder padding="xs" radius="md">
          <Group gap="xs" align="flex-end" wrap="nowrap">
            <TextInput
              label={t.boards.column(at + 1)}
              placeholder={t.boards.company}
              value={column.label}
              onChange={(event) => change(at, { label: event.currentTarget.value })}
              style={{ flex: 1 }}
            />
            <NativeSelect
              label={t.boards.type}
              aria-label={t.boards.typeOfColumn(at + 1)}
              data={TYPES}
              value={column.type}
              onChange={(event) => change(at, { type: event.currentTarget.value as FieldType })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size={36}
              aria-label={t.boards.removeColumn(at + 1)}
              onClick={() => set(columns.filter((_, index) => index !== at))}
            >
              <X size={16} />
            </ActionIcon>
          </Group>
          {column.type === "select"
            ? (
              <TextInput
                mt="xs"
                label={t.boards.options}
                placeholder={t.boards.openWonLost}
                description={t.boards.separatedByCommas}
                value={column.options}
                onChange={(event) => change(at, { options: event.currentTarget.value })}
              />
            )
            : null}
        </Card>
      ))}
      <Button
        variant="subtle"
        leftSection={<Plus size={15} aria-hidden />}
        onClick={() => set([...columns, NEW_COLUMN])}
        style={{ alignSelf: "flex-start" }}
      >
        {t.boards.addColumn}
      </Button>
    </Stack>
  );
}
