// The initial values of a question's form: its defaults, and false for a boolean. Nothing else is
// preselected.

import { resolveSchema } from "../../form/schema";
import type { Schema } from "../../form/values";

export const hasFields = (schema: Schema) =>
  schema.type === "object" && Object.keys(schema.properties ?? {}).length > 0;

export function initialAnswer(form: Schema, root: Schema = form): unknown {
  const schema = resolveSchema(form, root);
  if (schema.default !== undefined) return schema.default;
  if (schema.type === "boolean") return false;
  if (!hasFields(schema)) return undefined;
  const needed = new Set<string>(schema.required ?? []);
  const made = Object.entries(schema.properties as Record<string, Schema>).map(
    ([name, inner]) => {
      const one = resolveSchema(inner, root);
      const shown = needed.has(name) || one.default !== undefined || one.type === "boolean";
      return [name, shown ? initialAnswer(one, root) : undefined] as const;
    },
  );
  return Object.fromEntries(made.filter(([, value]) => value !== undefined));
}
