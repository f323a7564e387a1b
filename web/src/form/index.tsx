// Forms that are made from JSON Schemas: a whole definition, or one small document.

export { DefinitionEditor, type DefinitionEditorProps } from "./DefinitionEditor";
export { focusPointer } from "./focus";
export { SchemaForm, type SchemaFormProps } from "./SchemaForm";
export type { Finding, Level, Samples, Schema } from "./values";
