// A form for a new row: all columns of a dataset, or the fields of a board form.

import { Button, Group, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { Problem } from "../../api/problem";
import { ProblemNote } from "../../kit/QueryResult";
import { parseCell } from "./cells";
import type { Column } from "./rows";
import { t } from "../../strings";

export type Field = { column: Column; label: string; help?: string; required?: boolean };

type Props = {
  fields: Field[];
  send: (row: Record<string, unknown>) => Promise<unknown>;
  word?: string;
};

export function RowForm({ fields, send, word = t.boards.addRow }: Props) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { row, found } = readRow(fields, texts);
    setWrong(found);
    setProblem(null);
    if (Object.keys(found).length) return;
    if (!Object.keys(row).length) {
      return setProblem(new Error(t.boards.aRowNeedsAtLeast));
    }
    setBusy(true);
    try {
      await send(row);
      setTexts({});
    } catch (refused) {
      const at = refused instanceof Problem
        ? Object.fromEntries(
          refused.findings.map((one) => [one.pointer.split("/").at(-1)!, one.detail]),
        )
        : {};
      setWrong(at);
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <Stack gap="sm">
        {fields.map((field) => (
          <Input
            key={field.column.key}
            field={field}
            text={texts[field.column.key] ?? ""}
            error={wrong[field.column.key]}
            set={(text) => setTexts((before) => ({ ...before, [field.column.key]: text }))}
          />
        ))}
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group justify="flex-end">
          <Button type="submit" loading={busy}>{word}</Button>
        </Group>
      </Stack>
    </form>
  );
}

function readRow(fields: Field[], texts: Record<string, string>) {
  const row: Record<string, unknown> = {};
  const found: Record<string, string> = {};
  for (const { column, required } of fields) {
    const read = parseCell(column, texts[column.key] ?? "");
    if ("problem" in read) found[column.key] = read.problem;
    else if (read.value !== null) row[column.key] = read.value;
    else if (required) found[column.key] = t.boards.thisFieldIsRequired;
  }
  return { row, found };
}

type InputProps = { field: Field; text: string; error?: string; set: (text: string) => void };

function Input({ field: { column, label, help, required }, text, error, set }: InputProps) {
  const common = {
    label,
    error,
    required,
    value: text,
    description: help ??
      (column.type === "tags" ? t.boards.severalValuesSeparatedByCommas : undefined),
    onChange: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value),
  };
  if (column.type === "select") {
    return (
      <NativeSelect
        {...common}
        data={[{ value: "", label: "—" }, ...(column.options ?? [])]}
      />
    );
  }
  if (column.type === "richtext") return <Textarea {...common} autosize minRows={3} />;
  if (column.type === "date") return <TextInput {...common} type="date" />;
  return <TextInput {...common} inputMode={column.type === "number" ? "decimal" : "text"} />;
}
