// (first shape; grows) A definition as a form, as JSON, or as what changed.

import { CodeEditor } from "../code";
import type { Finding, Json, Samples } from "./values";

export type DefinitionEditorProps = {
  value: unknown;
  onChange: (next: Json) => void;
  findings?: Finding[];
  samples?: Samples;
  readOnly?: boolean;
  compareWith?: unknown;
  /** Told while something is written that cannot be read yet, and with null once it can. */
  onBroken?: (words: string | null) => void;
};

export function DefinitionEditor({ value }: DefinitionEditorProps) {
  return <CodeEditor value={JSON.stringify(value, null, 2)} label="Definition" language="json" readOnly />;
}
