// Fields for scalar values: text, number, choice, boolean, time zone, date-time.

import {
  Autocomplete,
  Checkbox,
  Input,
  MultiSelect,
  NativeSelect,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useEffect, useState } from "react";
import { isInexact } from "../kit/exactJson";
import { useFormContext } from "./formContext";
import { type FieldProps, FindingMessages, Frame, useField } from "./Frame";
import { hint, parseNumber, pickedType } from "./schema";

const text = (value: unknown) => (typeof value === "string" ? value : "");

/** An empty value is omitted unless it is required. */
const written = (
  made: FieldProps,
  value: string,
) => (value === "" && !made.required ? undefined : value);

export function LineField(made: FieldProps) {
  const form = useFormContext();
  const words = useField(made);
  return (
    <Frame made={made} words={words}>
      <TextInput
        id={words.id}
        value={text(made.value)}
        type={pickedType(made.schema)}
        autoComplete="off"
        maxLength={made.schema.maxLength}
        placeholder={text(made.schema.examples?.[0])}
        readOnly={form.readOnly}
        error={words.wrong}
        aria-describedby={words.described}
        aria-invalid={words.wrong || undefined}
        onChange={(event) => form.set(made.at, written(made, event.currentTarget.value))}
      />
    </Frame>
  );
}

export function TextField(made: FieldProps) {
  const form = useFormContext();
  const words = useField(made);
  return (
    <Frame made={made} words={words}>
      <Textarea
        id={words.id}
        value={text(made.value)}
        autosize
        minRows={2}
        maxRows={16}
        readOnly={form.readOnly}
        error={words.wrong}
        aria-describedby={words.described}
        aria-invalid={words.wrong || undefined}
        onChange={(event) => form.set(made.at, written(made, event.currentTarget.value))}
      />
    </Frame>
  );
}

const ZONES = typeof Intl.supportedValuesOf === "function"
  ? ["UTC", ...Intl.supportedValuesOf("timeZone")]
  : ["UTC"];

/** Text with suggestions; other values are allowed too. */
export function SuggestField({ made, offers }: { made: FieldProps; offers: string[] }) {
  const form = useFormContext();
  const words = useField(made);
  return (
    <Frame made={made} words={words}>
      <Autocomplete
        id={words.id}
        value={text(made.value)}
        data={offers}
        limit={30}
        readOnly={form.readOnly}
        error={words.wrong}
        aria-describedby={words.described}
        onChange={(value) => form.set(made.at, written(made, value))}
      />
    </Frame>
  );
}

export const ZoneField = (made: FieldProps) => <SuggestField made={made} offers={ZONES} />;

export function ChoiceField(made: FieldProps) {
  const form = useFormContext();
  const words = useField(made);
  const { schema, value } = made;
  const values: unknown[] = schema.const !== undefined ? [schema.const] : schema.enum;
  const usual = schema.default === undefined || schema.default === null
    ? ""
    : ` (${schema.default})`;
  const nothing = form.plain ? "Choose …" : `Left out${usual}`;
  const mayLeaveOut = !made.required || value === undefined;
  return (
    <Frame made={made} words={words}>
      <NativeSelect
        id={words.id}
        value={value === undefined ? "" : String(values.indexOf(value))}
        data={[
          ...(mayLeaveOut ? [{ value: "", label: nothing }] : []),
          ...values.map((one, at) => ({ value: String(at), label: String(one) })),
        ]}
        disabled={form.readOnly}
        error={words.wrong}
        aria-describedby={words.described}
        onChange={({ currentTarget: { value: at } }) =>
          form.set(made.at, at === "" ? undefined : values[Number(at)])}
      />
    </Frame>
  );
}

/** Multiple choice. */
export function ChoicesField(made: FieldProps) {
  const form = useFormContext();
  const words = useField(made, true);
  return (
    <Frame made={made} words={words}>
      <MultiSelect
        id={words.id}
        value={(made.value ?? []) as string[]}
        data={made.schema.items.enum as string[]}
        readOnly={form.readOnly}
        error={words.wrong}
        onChange={(next) => form.set(made.at, next.length || made.required ? next : undefined)}
      />
    </Frame>
  );
}

export function BooleanField(made: FieldProps) {
  const form = useFormContext();
  const { id, title, hint, findings } = useField(made);
  return (
    <div data-pointer={made.at}>
      <Checkbox
        id={id}
        mt={28}
        label={title}
        description={hint || undefined}
        checked={(made.value ?? made.schema.default ?? false) as boolean}
        disabled={form.readOnly}
        onChange={(event) => form.set(made.at, event.currentTarget.checked)}
      />
      <FindingMessages findings={findings} />
    </div>
  );
}

const wrongWords = (spelt: string) =>
  isInexact(spelt.trim()) && /^-?[0-9]+$/.test(spelt.trim())
    ? "This has more digits than a browser keeps."
    : "This is not a number yet.";

export function NumberField(made: FieldProps) {
  const form = useFormContext();
  const words = useField(made);
  const isMoney = hint(made.schema, "widget") === "money";
  const asText = typeof made.value === "string" || (made.value === undefined && isMoney);
  const shown = made.value === undefined ? "" : String(made.value);
  // Text that is not a number is kept as typed.
  const [odd, setOdd] = useState<string | null>(null);
  useEffect(() => setOdd(null), [made.value]);
  useEffect(() => () => form.broken(made.at, null), [form, made.at]);
  const write = (spelt: string) => {
    const read = parseNumber(spelt, false);
    const good = read === undefined || typeof read === "number";
    setOdd(good && (read === undefined || String(read) === spelt.trim()) ? null : spelt);
    form.broken(made.at, good ? null : wrongWords(spelt));
    if (good) form.set(made.at, read === undefined || !asText ? read : spelt.trim());
  };
  const bad = odd !== null && typeof parseNumber(odd, false) === "string";
  return (
    <Frame made={made} words={words}>
      <TextInput
        id={words.id}
        inputMode="decimal"
        autoComplete="off"
        leftSection={isMoney ? "$" : undefined}
        value={odd ?? shown}
        placeholder={made.schema.default === undefined || made.schema.default === null
          ? undefined
          : String(made.schema.default)}
        readOnly={form.readOnly}
        error={words.wrong || bad}
        aria-describedby={words.described}
        onChange={(event) => write(event.currentTarget.value)}
      />
      {bad ? <Input.Error mt={4}>{wrongWords(odd)}</Input.Error> : null}
    </Frame>
  );
}
