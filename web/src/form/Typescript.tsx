// A script editor.

import { CodeEditor } from "../code";
import { useFormContext } from "./formContext";
import { type FieldProps, Frame, useField } from "./Frame";

export function TypescriptField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field, true);
  return (
    <Frame field={field} texts={texts} unlabelled>
      <CodeEditor
        value={typeof field.value === "string" ? field.value : ""}
        label={texts.title}
        language="typescript"
        readOnly={form.readOnly}
        onChange={(next) => form.set(field.at, next)}
      />
    </Frame>
  );
}
