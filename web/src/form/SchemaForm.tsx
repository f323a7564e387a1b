// A small document as a form, by its JSON Schema: an answer, the settings of a recipe, the inputs
// of a run. People answer here; names of code stay away.

import "./form.css";
import { Stack } from "@mantine/core";
import { useCallback, useEffect, useRef, useState } from "react";
import { checkValue } from "./check";
import { FormProvider } from "./desk";
import { Field } from "./Field";
import { Fields } from "./Group";
import { isObject } from "./pointers";
import { kindOf, settledOnce } from "./schema";
import { useCheck } from "./useCheck";
import type { Finding, Schema } from "./values";

export type SchemaFormProps = {
  schema: Schema;
  value: unknown;
  onChange: (next: unknown) => void;
  findings?: Finding[];
  /** Where references are looked up; left out: the schema itself. */
  root?: Schema;
  readOnly?: boolean;
  /** Told while something is written that cannot be read yet, and with null once it can. */
  onBroken?: (text: string | null) => void;
};

const NONE: Finding[] = [];
const NOTHING = {};

export function SchemaForm(props: SchemaFormProps) {
  const { schema: given, value, onChange, root = given, readOnly = false } = props;
  const schema = settledOnce(given, root);
  const wasTouched = useTouched(value);
  const check = useCallback((now: unknown) => checkValue(given, now), [given]);
  // Nobody is told that a field is empty before they had a chance to fill it.
  const findings = useCheck(
    value,
    readOnly || !wasTouched || root !== given ? null : check,
    props.findings ?? NONE,
  );
  const broken = (fields: ReadonlyMap<string, string>) =>
    props.onBroken?.([...fields.values()][0] ?? null);
  const isGroup = kindOf({ name: "", schema, value, root, templated: false }) === "group";
  return (
    <FormProvider
      value={value}
      onChange={onChange}
      findings={findings}
      readOnly={readOnly}
      plain
      onBroken={broken}
    >
      <Stack gap="md">
        {isGroup
          ? (
            <Fields
              schema={schema}
              root={root}
              value={isObject(value) ? value : NOTHING}
              at=""
              templated={false}
            />
          )
          : (
            <Field
              name="answer"
              schema={given}
              root={root}
              value={value}
              at=""
              required
              templated={false}
            />
          )}
      </Stack>
    </FormProvider>
  );
}

function useTouched(value: unknown): boolean {
  const [was, set] = useState(false);
  const first = useRef(value);
  useEffect(() => {
    if (value !== first.current) set(true);
  }, [value]);
  return was;
}
