// A union value: its variant is chosen first, and its fields follow.

import { Box, NativeSelect, Stack } from "@mantine/core";
import { useFormContext } from "./formContext";
import { Field } from "./Field";
import { type FieldProps, Frame, useField } from "./Frame";
import { JsonField } from "./JsonField";
import { isObject } from "./pointers";
import { initialValue, tagOf, typesOf, variantAt, variantsOf, variantTitle } from "./schema";
import type { Schema } from "./values";
import { t } from "../strings";

/** A new value of another variant; fields that both variants have are kept. */
export function convertToVariant(variant: Schema, root: Schema, before: unknown): unknown {
  const fresh = initialValue(variant, root);
  if (!isObject(fresh) || !isObject(before)) return fresh;
  const known = Object.entries(before).filter(([key]) => {
    const property = variant.properties?.[key];
    return isObject(property) && property.const === undefined;
  });
  return { ...fresh, ...Object.fromEntries(known) };
}

export function VariantsField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field);
  const variants = variantsOf(field.schema, field.root);
  const tag = tagOf(field.schema, variants);
  const at = field.value === undefined ? -1 : variantAt(field.schema, variants, field.value);
  if (field.value !== undefined && at < 0) return <JsonField {...field} />;
  const chosen = variants[at];
  const isBare = chosen && !typesOf(chosen).includes("object") && chosen.const !== undefined;
  return (
    <Frame field={field} texts={chosen && !isBare ? { ...texts, findings: [] } : texts} removable>
      <Stack gap="sm">
        <NativeSelect
          id={texts.id}
          value={String(at)}
          disabled={form.readOnly}
          data={[
            ...(at < 0 || !field.required ? [{ value: "-1", label: t.form.notSet2 }] : []),
            ...variants.map((one, place) => ({
              value: String(place),
              label: variantTitle(one, tag),
            })),
          ]}
          onChange={({ currentTarget: { value } }) => {
            const next = variants[Number(value)];
            form.set(
              field.at,
              next ? convertToVariant(next, field.root, field.value) : undefined,
            );
          }}
        />
        {chosen && !isBare
          ? (
            <Box>
              <Field {...field} schema={chosen} required />
            </Box>
          )
          : null}
      </Stack>
    </Frame>
  );
}
