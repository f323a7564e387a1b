// A small document as a form, generated from its JSON Schema: an answer, recipe settings, run
// inputs. It is for end users and shows no identifiers.

import "./form.css";
import { Stack } from "@mantine/core";
import { useCallback, useEffect, useRef, useState } from "react";
import { checkValue } from "./check";
import { FormProvider } from "./formContext";
import { Field } from "./Field";
import { Fields } from "./Group";
import { isObject } from "./pointers";
import { kindOf, resolveSchemaOnce } from "./schema";
import { useCheck } from "./useCheck";
import type { Finding, Schema } from "./values";

export type SchemaFormProps = {
  schema: Schema;
  value: unknown;
  onChange: (next: unknown) => void;
  findings?: Finding[];
  /** The document in which references are resolved; default: the schema itself. */
  root?: Schema;
  readOnly?: boolean;
  /** Called with a message while the input cannot be parsed, and with null once it can. */
  onBroken?: (text: string | null) => void;
};

const NONE: Finding[] = [];
const NOTHING = {};

export function SchemaForm(props: SchemaFormProps) {
  const { schema: given, value, onChange, root = given, readOnly = false } = props;
  const schema = resolveSchemaOnce(given, root);
  const wasTouched = useTouched(value);
  const check = useCallback((now: unknown) => checkValue(given, now), [given]);
  // An empty field is not reported before the user had a chance to fill it in.
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
