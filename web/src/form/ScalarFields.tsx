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
import { t } from "../strings";

const text = (value: unknown) => (typeof value === "string" ? value : "");

/** An empty value is omitted unless it is required. */
const written = (
  field: FieldProps,
  value: string,
) => (value === "" && !field.required ? undefined : value);

export function LineField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field);
  return (
    <Frame field={field} texts={texts}>
      <TextInput
        id={texts.id}
        value={text(field.value)}
        type={pickedType(field.schema)}
        autoComplete="off"
        maxLength={field.schema.maxLength}
        placeholder={text(field.schema.examples?.[0])}
        readOnly={form.readOnly}
        error={texts.wrong}
        aria-describedby={texts.described}
        aria-invalid={texts.wrong || undefined}
        onChange={(event) => form.set(field.at, written(field, event.currentTarget.value))}
      />
    </Frame>
  );
}

export function TextField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field);
  return (
    <Frame field={field} texts={texts}>
      <Textarea
        id={texts.id}
        value={text(field.value)}
        autosize
        minRows={2}
        maxRows={16}
        readOnly={form.readOnly}
        error={texts.wrong}
        aria-describedby={texts.described}
        aria-invalid={texts.wrong || undefined}
        onChange={(event) => form.set(field.at, written(field, event.currentTarget.value))}
      />
    </Frame>
  );
}

const ZONES = typeof Intl.supportedValuesOf === "function"
  ? ["UTC", ...Intl.supportedValuesOf("timeZone")]
  : ["UTC"];

/** Text with suggestions; other values are allowed too. */
export function SuggestField({ field, offers }: { field: FieldProps; offers: string[] }) {
  const form = useFormContext();
  const texts = useField(field);
  return (
    <Frame field={field} texts={texts}>
      <Autocomplete
        id={texts.id}
        value={text(field.value)}
        data={offers}
        limit={30}
        readOnly={form.readOnly}
        error={texts.wrong}
        aria-describedby={texts.described}
        onChange={(value) => form.set(field.at, written(field, value))}
      />
    </Frame>
  );
}

export const ZoneField = (field: FieldProps) => <SuggestField field={field} offers={ZONES} />;

export function ChoiceField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field);
  const { schema, value } = field;
  const values: unknown[] = schema.const !== undefined ? [schema.const] : schema.enum;
  const usual = schema.default === undefined || schema.default === null
    ? ""
    : ` (${schema.default})`;
  const nothing = form.plain ? t.form.choose : t.form.notSet(usual);
  const mayLeaveOut = !field.required || value === undefined;
  return (
    <Frame field={field} texts={texts}>
      <NativeSelect
        id={texts.id}
        value={value === undefined ? "" : String(values.indexOf(value))}
        data={[
          ...(mayLeaveOut ? [{ value: "", label: nothing }] : []),
          ...values.map((one, at) => ({ value: String(at), label: String(one) })),
        ]}
        disabled={form.readOnly}
        error={texts.wrong}
        aria-describedby={texts.described}
        onChange={({ currentTarget: { value: at } }) =>
          form.set(field.at, at === "" ? undefined : values[Number(at)])}
      />
    </Frame>
  );
}

/** Multiple choice. */
export function ChoicesField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field, true);
  return (
    <Frame field={field} texts={texts}>
      <MultiSelect
        id={texts.id}
        value={(field.value ?? []) as string[]}
        data={field.schema.items.enum as string[]}
        readOnly={form.readOnly}
        error={texts.wrong}
        onChange={(next) => form.set(field.at, next.length || field.required ? next : undefined)}
      />
    </Frame>
  );
}

export function BooleanField(field: FieldProps) {
  const form = useFormContext();
  const { id, title, hint, findings } = useField(field);
  return (
    <div data-pointer={field.at}>
      <Checkbox
        id={id}
        mt={28}
        label={title}
        description={hint || undefined}
        checked={(field.value ?? field.schema.default ?? false) as boolean}
        disabled={form.readOnly}
        onChange={(event) => form.set(field.at, event.currentTarget.checked)}
      />
      <FindingMessages findings={findings} />
    </div>
  );
}

const describeInvalidNumber = (spelt: string) =>
  isInexact(spelt.trim()) && /^-?[0-9]+$/.test(spelt.trim())
    ? t.form.thisHasMoreDigitsThan
    : t.form.thisIsNotANumber;

export function NumberField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field);
  const isMoney = hint(field.schema, "widget") === "money";
  const asText = typeof field.value === "string" || (field.value === undefined && isMoney);
  const shown = field.value === undefined ? "" : String(field.value);
  // Text that is not a number is kept as typed.
  const [odd, setOdd] = useState<string | null>(null);
  useEffect(() => setOdd(null), [field.value]);
  useEffect(() => () => form.broken(field.at, null), [form, field.at]);
  const write = (spelt: string) => {
    const read = parseNumber(spelt, false);
    const good = read === undefined || typeof read === "number";
    setOdd(good && (read === undefined || String(read) === spelt.trim()) ? null : spelt);
    form.broken(field.at, good ? null : describeInvalidNumber(spelt));
    if (good) form.set(field.at, read === undefined || !asText ? read : spelt.trim());
  };
  const bad = odd !== null && typeof parseNumber(odd, false) === "string";
  return (
    <Frame field={field} texts={texts}>
      <TextInput
        id={texts.id}
        inputMode="decimal"
        autoComplete="off"
        leftSection={isMoney ? "$" : undefined}
        value={odd ?? shown}
        placeholder={field.schema.default === undefined || field.schema.default === null
          ? undefined
          : String(field.schema.default)}
        readOnly={form.readOnly}
        error={texts.wrong || bad}
        aria-describedby={texts.described}
        onChange={(event) => write(event.currentTarget.value)}
      />
      {bad ? <Input.Error mt={4}>{describeInvalidNumber(odd)}</Input.Error> : null}
    </Frame>
  );
}
