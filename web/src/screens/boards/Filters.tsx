// The filters of a table: removable pills, and a form to add one.

import { Button, Group, NativeSelect, Pill, Popover, Stack, TextInput } from "@mantine/core";
import { ListFilter } from "lucide-react";
import { type FormEvent, useState } from "react";
import { type Column, type Filter, filtersText, needsValue, type Op, OPS, opsFor } from "./rows";
import { t } from "../../strings";

type Props = {
  columns: Column[];
  filters: Filter[];
  change: (text: string | undefined) => void;
};

export function Filters({ columns, filters, change }: Props) {
  const [open, setOpen] = useState(false);
  const labelOf = (key: string) => columns.find((one) => one.key === key)?.label ?? key;
  return (
    <Group gap="xs">
      <Popover opened={open} onChange={setOpen} trapFocus position="bottom-start" shadow="md">
        <Popover.Target>
          <Button
            variant="default"
            leftSection={<ListFilter size={15} aria-hidden />}
            onClick={() => setOpen(!open)}
            disabled={!columns.length}
          >
            {t.boards.filter}
          </Button>
        </Popover.Target>
        <Popover.Dropdown aria-label={t.boards.newFilter}>
          <NewFilter
            columns={columns}
            add={(filter) => {
              change(filtersText([...filters, filter]));
              setOpen(false);
            }}
          />
        </Popover.Dropdown>
      </Popover>
      {filters.map((one, at) => (
        <Pill
          key={at}
          size="lg"
          withRemoveButton
          removeButtonProps={{
            "aria-label": t.boards.removeTheFilterOn(labelOf(one.field)),
            "aria-hidden": false,
            tabIndex: 0,
          }}
          onRemove={() => change(filtersText(filters.filter((_, index) => index !== at)))}
        >
          {labelOf(one.field)} {OPS[one.op]} {one.value ?? ""}
        </Pill>
      ))}
    </Group>
  );
}

function NewFilter({ columns, add }: { columns: Column[]; add: (filter: Filter) => void }) {
  const [key, setKey] = useState(columns[0]?.key ?? "");
  const column = columns.find((one) => one.key === key) ?? columns[0];
  const ops = opsFor(column?.type ?? "text");
  const [chosen, setOp] = useState<Op | null>(null);
  const op = chosen && ops.includes(chosen) ? chosen : ops[0]!;
  const [value, setValue] = useState("");
  const options = column?.options;
  const written = options && !options.includes(value) ? options[0] ?? "" : value;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (column) {
      add(
        needsValue(op) ? { field: column.key, op, value: written } : { field: column.key, op },
      );
    }
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" w={240}>
        <NativeSelect
          label={t.boards.column2}
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          data={columns.map((one) => ({ value: one.key, label: one.label }))}
        />
        <NativeSelect
          label={t.boards.condition}
          value={op}
          onChange={(event) => setOp(event.currentTarget.value as Op)}
          data={ops.map((one) => ({ value: one, label: OPS[one] }))}
        />
        {!needsValue(op) ? null : options
          ? (
            <NativeSelect
              label={t.boards.value}
              value={written}
              onChange={(event) => setValue(event.currentTarget.value)}
              data={options}
            />
          )
          : (
            <TextInput
              label={t.boards.value}
              required
              value={value}
              type={column?.type === "date"
                ? "date"
                : column?.type === "number"
                ? "number"
                : "text"}
              step="any"
              onChange={(event) => setValue(event.currentTarget.value)}
            />
          )}
        <Button type="submit">{t.boards.filter}</Button>
      </Stack>
    </form>
  );
}
