// The request of a replay: only the changed fields.

import type { Schemas } from "../../api/client";
import { isObject } from "../../form/pointers";
import { parseJson } from "../../form/text";
import { t } from "../../strings";

export type Edited = {
  inputs: string;
  payload: string;
  version: "same" | "active";
  mode: "live" | "verify" | "dry_run";
};
type ReplayRequest = Partial<Schemas["Replay"]> & { version: Edited["version"] };

// Unchanged fields are not sent, so they need not be parsable here.
function parsed(text: string, before: string): { value?: unknown; wrong?: string } {
  if (text === before) return {};
  const read = parseJson(text);
  return "problem" in read ? { wrong: read.problem } : read;
}

/** The request for the edited fields; null while one of them cannot be parsed. */
export function replayOf(before: Edited, edited: Edited): {
  body?: ReplayRequest;
  wrong: { inputs?: string; payload?: string };
} {
  const inputs = parsed(edited.inputs, before.inputs);
  const payload = parsed(edited.payload, before.payload);
  const fits = !("value" in inputs) || isObject(inputs.value);
  const wrong = {
    inputs: inputs.wrong ?? (fits ? undefined : t.run.inputsMustBeAnObject),
    payload: payload.wrong,
  };
  if (wrong.inputs || wrong.payload) return { wrong };
  const body: ReplayRequest = { version: edited.version };
  if (edited.inputs !== before.inputs) body.inputs = inputs.value as Record<string, unknown>;
  if (edited.payload !== before.payload) body.payload = payload.value;
  if (edited.mode !== before.mode) body.mode = edited.mode;
  return { body, wrong };
}
