// A map with user-defined keys and values: headers, a mapping, trigger inputs.

import { ActionIcon, Box, Button, Group, Stack, TextInput } from "@mantine/core";
import { Plus, X } from "lucide-react";
import { useRef, useState } from "react";
import { useFormContext } from "./formContext";
import { Field } from "./Field";
import { type FieldProps, Frame, useField } from "./Frame";
import { isObject, renameKey, under } from "./pointers";
import { initialValue } from "./schema";
import type { Json, Schema } from "./values";
import { t } from "../strings";

const ANYTHING: Schema = {};

export function MapField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field);
  const value = (field.value ?? {}) as Json;
  const inner = isObject(field.schema.additionalProperties)
    ? field.schema.additionalProperties as Schema
    : ANYTHING;
  const names = Object.keys(value);
  const keys = useRef<number[]>([]);
  while (keys.current.length < names.length) keys.current.push((keys.current.at(-1) ?? 0) + 1);
  keys.current.length = names.length;
  const add = () => {
    let fresh = "name";
    for (let at = 2; Object.hasOwn(value, fresh); at += 1) fresh = `name_${at}`;
    form.change(
      field.at,
      (now) => ({ ...(isObject(now) ? now : {}), [fresh]: initialValue(inner, field.root) }),
    );
  };
  return (
    <Frame field={field} texts={texts} unlabelled removable>
      <Stack gap="xs">
        {names.map((name, place) => (
          <Group key={keys.current[place]} gap="xs" wrap="nowrap" align="flex-start">
            <NameField field={field} name={name} usedNames={names} />
            <Box style={{ flex: 2, minWidth: 0 }} className="untitled">
              <Field
                name={name}
                schema={inner}
                root={field.root}
                value={value[name]}
                at={under(field.at, name)}
                required
                templated={field.templated}
              />
            </Box>
            {form.readOnly ? null : (
              <ActionIcon
                variant="subtle"
                color="gray"
                mt={4}
                aria-label={t.form.remove4(name)}
                onClick={() => form.set(under(field.at, name), undefined)}
              >
                <X size={14} />
              </ActionIcon>
            )}
          </Group>
        ))}
        {form.readOnly ? null : (
          <Box>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<Plus size={14} />}
              onClick={add}
            >
              {t.form.addAnEntry}
            </Button>
          </Box>
        )}
      </Stack>
    </Frame>
  );
}

/** The key of an entry; it is renamed on blur, so that partial keys are never stored. */
function NameField(
  { field, name, usedNames }: { field: FieldProps; name: string; usedNames: string[] },
) {
  const form = useFormContext();
  const [text, setText] = useState(name);
  const [seen, setSeen] = useState(name);
  if (seen !== name) {
    setSeen(name);
    setText(name);
  }
  const clash = text !== name && (usedNames.includes(text) || text === "");
  const finish = () => {
    if (clash) setText(name);
    else if (text !== name) form.change(field.at, (now) => renameKey(now as Json, name, text));
  };
  return (
    <TextInput
      aria-label={t.form.name}
      size="sm"
      style={{ flex: 1, minWidth: 90 }}
      value={text}
      readOnly={form.readOnly}
      error={clash
        ? (text === "" ? t.form.aNameIsRequired : t.form.thisNameAlreadyExists)
        : undefined}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={finish}
      onKeyDown={(event) => event.key === "Enter" && finish()}
    />
  );
}
