// The fields of an object: set and required ones first, the others collapsed. Keys that the schema
// does not know are shown as JSON until they are removed.

import { Box, Button, Collapse, Fieldset, Group, Stack, Text } from "@mantine/core";
import { ChevronDown, ChevronRight, Plus } from "lucide-react";
import { useCallback, useState } from "react";
import { useFormContext } from "./formContext";
import { Field } from "./Field";
import { useFindings } from "./findings";
import { useCollapsible } from "./focus";
import { type FieldProps, FindingMessages } from "./Frame";
import { isObject, under } from "./pointers";
import { hintOf, initialValue, isSmall, kindOf, resolveSchemaOnce, titleOf } from "./schema";
import type { Json, Schema } from "./values";
import { t } from "../strings";

const NO_SCHEMA: Schema = {};

export type Holder = {
  schema: Schema;
  root: Schema;
  value: unknown;
  at: string;
  templated: boolean;
};
type Props = Holder & {
  leave?: readonly string[];
  /** Collapsed even if set: rarely changed fields. */
  tucked?: readonly string[];
  moreLabel?: string;
  unknownLabel?: string;
};
const NO_NAMES: readonly string[] = [];

function propsFor({ schema, root, value, at, templated }: Holder, name: string): FieldProps {
  const known: Schema | undefined = schema.properties?.[name];
  const held = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return {
    name,
    schema: isObject(known) ? known : NO_SCHEMA,
    root,
    value: held,
    at: under(at, name),
    required: ((schema.required ?? []) as string[]).includes(name),
    templated,
  };
}

/** Small fields side by side, large ones on their own line. */
export function Grid({ fields }: { fields: FieldProps[] }) {
  const rows: FieldProps[][] = [];
  for (const field of fields) {
    const schema = resolveSchemaOnce(field.schema, field.root);
    const small = isSmall(kindOf({ ...field, schema }));
    const last = rows.at(-1);
    if (
      small && last && last.length < 2 &&
      last.every((one) =>
        isSmall(kindOf({ ...one, schema: resolveSchemaOnce(one.schema, one.root) }))
      )
    ) {
      last.push(field);
    } else rows.push([field]);
  }
  return (
    <div className="fields">
      {rows.flat().map((field) => {
        const small = isSmall(
          kindOf({ ...field, schema: resolveSchemaOnce(field.schema, field.root) }),
        );
        return (
          <div key={field.name} className={small ? undefined : "wide"}>
            <Field {...field} />
          </div>
        );
      })}
    </div>
  );
}

function Unknown(
  { holder, names, text }: { holder: Holder; names: string[]; text: string },
) {
  const form = useFormContext();
  const takeOut = () =>
    form.change(
      holder.at,
      (value) =>
        Object.fromEntries(
          Object.entries(value as Json).filter(([key]) => !names.includes(key)),
        ),
    );
  return (
    <Fieldset legend={text} variant="filled">
      <Grid fields={names.map((name) => propsFor(holder, name))} />
      {form.readOnly ? null : (
        <Button mt="sm" size="compact-sm" variant="default" onClick={takeOut}>
          {t.form.removeThem}
        </Button>
      )}
    </Fieldset>
  );
}

/** All fields of an object, without a frame. */
export function Fields(props: Props) {
  const {
    leave = NO_NAMES,
    tucked = NO_NAMES,
    moreLabel,
    unknownLabel = t.form.unknown,
    ...holder
  } = props;
  const form = useFormContext();
  const { schema, value, at } = holder;
  const known = Object.keys(schema.properties ?? {}).filter((name) => !leave.includes(name));
  const required = (schema.required ?? []) as string[];
  // Computed once: a field must not move while the user types in it.
  const [front] = useState(() =>
    known.filter((name) =>
      required.includes(name) || (isObject(value) && value[name] !== undefined)
    )
  );
  // In an answer form every question is visible at once.
  const first = form.plain
    ? known
    : front.length || known.length > 3
    ? known.filter((name) =>
      (front.includes(name) || required.includes(name)) && !tucked.includes(name)
    )
    : known;
  const folded = known.filter((name) => !first.includes(name));
  const unknown = Object.keys(isObject(value) ? value : {}).filter((name) =>
    !Object.hasOwn(schema.properties ?? {}, name) && !leave.includes(name)
  );
  const mayHoldMore = schema.additionalProperties !== false;
  return (
    <Stack gap="md">
      <UnmatchedFindings at={at} names={[...known, ...unknown, ...leave]} />
      {first.length ? <Grid fields={first.map((name) => propsFor(holder, name))} /> : null}
      {unknown.length
        ? (
          <Unknown
            holder={holder}
            names={unknown}
            text={mayHoldMore ? t.form.furtherEntries : unknownLabel}
          />
        )
        : null}
      {folded.length ? <More holder={holder} names={folded} text={moreLabel} /> : null}
    </Stack>
  );
}

/** Findings about pointers inside that have no field. */
function UnmatchedFindings({ at, names }: { at: string; names: string[] }) {
  const findings = useFindings(at, true);
  const fields = names.map((name) => under(at, name));
  const mine = findings.filter(({ pointer }) =>
    !fields.some((one) => pointer === one || pointer.startsWith(`${one}/`))
  );
  return mine.length ? <FindingMessages findings={mine} /> : null;
}

type MoreProps = { holder: Holder; names: string[]; text?: string };

function More({ holder, names, text = t.form.moreSettings }: MoreProps) {
  const places = names.map((name) => under(holder.at, name)).join(" ");
  const holds = useCallback(
    (pointer: string) =>
      places.split(" ").some((one) => pointer === one || pointer.startsWith(`${one}/`)),
    [places],
  );
  const hasFindings = useFindings(holder.at, true).some(({ pointer, level }) =>
    level === "error" && holds(pointer)
  );
  const [isOpen, setOpen] = useCollapsible(holder.at, false, holds);
  const open = isOpen || hasFindings;
  return (
    <Box>
      <Button
        size="compact-sm"
        variant="subtle"
        color="gray"
        aria-expanded={open}
        leftSection={open ? <ChevronDown size={14} /> : <ChevronRight size={14} />}
        onClick={() => setOpen(!isOpen)}
      >
        {text}
      </Button>
      <Collapse expanded={open} transitionDuration={0}>
        {open
          ? (
            <Box mt="sm">
              <Grid fields={names.map((name) => propsFor(holder, name))} />
            </Box>
          )
          : null}
      </Collapse>
    </Box>
  );
}

export function GroupField(field: FieldProps) {
  const form = useFormContext();
  const title = titleOf(field.name, field.schema);
  const hint = hintOf(field.schema);
  if (field.value === undefined) {
    return (
      <Group data-pointer={field.at} gap="sm">
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Plus size={14} />}
          disabled={form.readOnly}
          onClick={() => form.set(field.at, initialValue(field.schema, field.root))}
        >
          {title}
        </Button>
        <Text size="xs" c="dimmed" style={{ flex: 1, minWidth: 140 }}>{hint}</Text>
      </Group>
    );
  }
  return (
    <Fieldset legend={title} data-pointer={field.at} radius="md">
      {hint ? <Text size="sm" c="dimmed" mb="sm">{hint}</Text> : null}
      <Fields
        schema={field.schema}
        root={field.root}
        value={field.value}
        at={field.at}
        templated={field.templated}
      />
      {field.required || form.readOnly ? null : (
        <Button
          mt="sm"
          size="compact-sm"
          variant="subtle"
          color="gray"
          onClick={() => form.set(field.at, undefined)}
        >
          {t.form.remove2(title.toLowerCase())}
        </Button>
      )}
    </Fieldset>
  );
}
