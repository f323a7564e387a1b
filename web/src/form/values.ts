// The public types of the form.

export type Level = "error" | "warning" | "note";
/** A message about one pointer of a document. */
export type Finding = { pointer: string; detail: string; level: Level; suggestion?: string };
/** Sample values of a past run, offered while a template is edited. */
export type Samples = { inputs?: unknown; payload?: unknown; steps: Record<string, unknown> };

// A JSON Schema can hold any keyword; only those that are read here are named.
// deno-lint-ignore no-explicit-any
export type Schema = Record<string, any>;
export type Json = Record<string, unknown>;
