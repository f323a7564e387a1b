// A script, whole.

import { CodeEditor } from "../code";
import { useDesk } from "./desk";
import { Frame, type Made, useField } from "./Frame";

export function TypescriptField(made: Made) {
  const desk = useDesk();
  const words = useField(made, true);
  return (
    <Frame made={made} words={words} unlabelled>
      <CodeEditor
        value={typeof made.value === "string" ? made.value : ""}
        label={words.title}
        language="typescript"
        readOnly={desk.readOnly}
        onChange={(next) => desk.set(made.at, next)}
      />
    </Frame>
  );
}
