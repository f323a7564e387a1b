// (first shape; grows) A small document as a form, by its JSON Schema.

import type { Finding, Schema } from "./values";

export type SchemaFormProps = {
  schema: Schema;
  value: unknown;
  onChange: (next: unknown) => void;
  findings?: Finding[];
  /** Where references are looked up; left out: the schema itself. */
  root?: Schema;
  readOnly?: boolean;
};

export function SchemaForm(_: SchemaFormProps) {
  return null;
}
