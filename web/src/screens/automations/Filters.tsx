// The filters of the list, all in the URL, so that a link shows the same list.

import { Button, Group, Select, TextInput } from "@mantine/core";
import { Search } from "lucide-react";
import { type RefObject, useEffect, useState } from "react";
import { type Choice, HEALTH, isArchived, isNarrowed, SORTS, STATES, TRIGGERS } from "./listQuery";
import { t } from "../../strings";

type Values = Record<string, string | undefined>;
type Props = {
  values: Values;
  change: (more: Values) => void;
  box: RefObject<HTMLInputElement | null>;
};

const A_PAUSE = 250;

/** Typed text is debounced before it is written to the URL. */
export function SearchBox({ values, change, box, label }: Props & { label: string }) {
  const [text, setText] = useState(values.search ?? "");
  useEffect(() => setText(values.search ?? ""), [values.search]);
  useEffect(() => {
    if (text === (values.search ?? "")) return;
    const timer = setTimeout(() => change({ search: text }), A_PAUSE);
    return () => clearTimeout(timer);
  }, [text, values.search, change]);
  return (
    <TextInput
      ref={box}
      aria-label={label}
      placeholder={`${label}  ( / )`}
      leftSection={<Search size={15} aria-hidden />}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      maxLength={200}
      style={{ flex: "1 1 14rem" }}
    />
  );
}

type PickProps = Omit<Props, "box"> & { name: string; label: string; choices: Choice[] };

export function Pick({ values, change, name, label, choices }: PickProps) {
  return (
    <Select
      aria-label={label}
      placeholder={label}
      data={choices}
      value={choices.some((one) => one.value === values[name]) ? values[name] ?? null : null}
      onChange={(value) => change({ [name]: value ?? undefined })}
      clearable
      w={{ base: "calc(50% - 4px)", xs: 172 }}
      comboboxProps={{ width: "max-content", position: "bottom-start" }}
    />
  );
}

export function Filters({ values, change, box }: Props) {
  const pick = { values, change };
  return (
    <Group gap="xs" mb="md">
      <SearchBox
        values={values}
        change={change}
        box={box}
        label={t.automations.searchByNameOrGoal}
      />
      {isArchived(values)
        ? null
        : <Pick {...pick} name="state" label={t.automations.anyState} choices={STATES} />}
      <Pick {...pick} name="health" label={t.automations.anyResult} choices={HEALTH} />
      <Pick {...pick} name="trigger" label={t.automations.anyTrigger} choices={TRIGGERS} />
      <Pick {...pick} name="sort" label={t.automations.newestFirst} choices={SORTS} />
      {isNarrowed(values)
        ? (
          <Button
            variant="subtle"
            color="gray"
            onClick={() =>
              change({
                search: undefined,
                health: undefined,
                trigger: undefined,
                state: isArchived(values) ? "archived" : undefined,
              })}
          >
            {t.automations.clear}
          </Button>
        )
        : null}
    </Group>
  );
}
