// The field for one value, chosen by its schema. It rerenders only when its own value or its
// findings change, which keeps large forms fast.

import { ActionIcon, Tooltip } from "@mantine/core";
import { Braces } from "lucide-react";
import { memo, useState } from "react";
import { CronField } from "./CronField";
import { useFormContext } from "./formContext";
import type { FieldProps } from "./Frame";
import { GroupField } from "./Group";
import { JsonField } from "./JsonField";
import { ListField } from "./List";
import { MapField } from "./Map";
import {
  BooleanField,
  ChoiceField,
  ChoicesField,
  LineField,
  NumberField,
  SuggestField,
  TextField,
  ZoneField,
} from "./ScalarFields";
import { hint, type Kind, kindOf, resolveSchemaOnce, typesOf } from "./schema";
import { StepsField } from "./Steps";
import { TemplateField } from "./TemplateField";
import { TypescriptField } from "./Typescript";
import { VariantsField } from "./Variants";
import { t } from "../strings";

const FIELDS: Record<Kind, (field: FieldProps) => React.ReactNode> = {
  choice: ChoiceField,
  choices: ChoicesField,
  yes: BooleanField,
  number: NumberField,
  zone: ZoneField,
  cron: CronField,
  picked: LineField,
  line: LineField,
  text: TextField,
  template: TemplateField,
  typescript: TypescriptField,
  list: ListField,
  steps: StepsField,
  group: GroupField,
  map: MapField,
  variants: VariantsField,
  json: JsonField,
};

// A focused field keeps its kind, even if the new value would get another one: an element under the
// cursor must not be replaced.
const HELD: ReadonlySet<Kind> = new Set(["json", "template"]);
// Plain fields that can hold a template instead.
const SWAPPED: ReadonlySet<Kind> = new Set(["number", "yes", "choice", "list", "choices"]);

/** Whether templates are allowed at this pointer inside a config. */
export const takesTemplates = (schema: { "x-mainspring-scope"?: string }, around: boolean) =>
  schema["x-mainspring-scope"] === "none"
    ? false
    : around || schema["x-mainspring-scope"] === "run";

function Swap({ field }: { field: FieldProps }) {
  const form = useFormContext();
  return (
    <Tooltip label={t.form.useATemplateInstead}>
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        aria-label={t.form.useATemplateFor(field.name)}
        className="swap"
        onClick={() => form.set(field.at, "{{  }}")}
      >
        <Braces size={13} />
      </ActionIcon>
    </Tooltip>
  );
}

function offersOf(field: FieldProps, form: ReturnType<typeof useFormContext>): string[] | null {
  const source = hint(field.schema, "source");
  if (!form.vocabulary || (field.value !== undefined && typeof field.value !== "string")) {
    return null;
  }
  if (source === "events") return form.vocabulary.events;
  return source === "capabilities" || source === "actions"
    ? [...form.vocabulary.actions.keys()]
    : null;
}

function Shown(props: FieldProps) {
  const form = useFormContext();
  const schema = resolveSchemaOnce(props.schema, props.root);
  const templated = takesTemplates(schema, props.templated);
  const field: FieldProps = { ...props, schema, templated };
  const [held, hold] = useState<Kind | null>(null);
  const kind = held ?? kindOf(field);
  const offers = offersOf(field, form);
  if (offers && kind !== "json") return <SuggestField field={field} offers={offers} />;
  const Control = FIELDS[kind];
  // Any value: text is written without JSON quotes.
  const isFree = templated && !typesOf(schema).length && kind === "json" &&
    field.value === undefined;
  if (isFree) return <TemplateOrJson field={field} />;
  if (HELD.has(kind)) {
    return (
      <div
        onFocus={() => hold(kind)}
        onBlur={({ currentTarget, relatedTarget }) =>
          currentTarget.contains(relatedTarget) || hold(null)}
      >
        <Control {...field} />
      </div>
    );
  }
  if (!templated || form.readOnly || !SWAPPED.has(kind)) return <Control {...field} />;
  return (
    <div className="swappable">
      <Control {...field} />
      <Swap field={field} />
    </div>
  );
}

function TemplateOrJson({ field }: { field: FieldProps }) {
  const form = useFormContext();
  return <JsonField {...field} onText={() => form.set(field.at, "{{  }}")} />;
}

export const Field = memo(Shown);
