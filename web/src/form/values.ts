// What the form hands in and out; other screens build on these.

export type Level = "error" | "warning" | "note";
/** Something said about one place of a document. */
export type Finding = { pointer: string; detail: string; level: Level; suggestion?: string };
/** Real values of a past run, to be picked from while a template is written. */
export type Samples = { inputs?: unknown; payload?: unknown; steps: Record<string, unknown> };

// A JSON Schema is anything that its author wrote; only what is read here is named.
// deno-lint-ignore no-explicit-any
export type Schema = Record<string, any>;
export type Json = Record<string, unknown>;
