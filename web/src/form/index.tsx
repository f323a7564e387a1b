// Forms generated from JSON Schemas: a definition, or one small document.

export { DefinitionEditor, type DefinitionEditorProps } from "./DefinitionEditor";
export { focusPointer } from "./focus";
export { SchemaForm, type SchemaFormProps } from "./SchemaForm";
export type { Finding, Level, Samples, Schema } from "./values";
