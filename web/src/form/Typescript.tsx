// A script editor.

import { CodeEditor } from "../code";
import { useFormContext } from "./formContext";
import { type FieldProps, Frame, useField } from "./Frame";

export function TypescriptField(made: FieldProps) {
  const form = useFormContext();
  const words = useField(made, true);
  return (
    <Frame made={made} words={words} unlabelled>
      <CodeEditor
        value={typeof made.value === "string" ? made.value : ""}
        label={words.title}
        language="typescript"
        readOnly={form.readOnly}
        onChange={(next) => form.set(made.at, next)}
      />
    </Frame>
  );
}
