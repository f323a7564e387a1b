// What is asked of the server for a replay: only what somebody has changed.

import type { Schemas } from "../../api/client";
import { isObject } from "../../form/pointers";
import { readJson } from "../../form/text";

export type Edited = {
  inputs: string;
  payload: string;
  version: "same" | "active";
  mode: "live" | "verify" | "dry_run";
};
type Asked = Partial<Schemas["Replay"]> & { version: Edited["version"] };

// What nobody touched is not sent, so it need not be readable here either.
function parsed(text: string, before: string): { value?: unknown; wrong?: string } {
  if (text === before) return {};
  const read = readJson(text);
  return "problem" in read ? { wrong: read.problem } : read;
}

/** The request for what was edited; no body while something in it cannot be read. */
export function replayOf(before: Edited, edited: Edited): {
  body?: Asked;
  wrong: { inputs?: string; payload?: string };
} {
  const inputs = parsed(edited.inputs, before.inputs);
  const payload = parsed(edited.payload, before.payload);
  const fits = !("value" in inputs) || isObject(inputs.value);
  const wrong = {
    inputs: inputs.wrong ?? (fits ? undefined : "Inputs are an object, with a key for each."),
    payload: payload.wrong,
  };
  if (wrong.inputs || wrong.payload) return { wrong };
  const body: Asked = { version: edited.version };
  if (edited.inputs !== before.inputs) body.inputs = inputs.value as Record<string, unknown>;
  if (edited.payload !== before.payload) body.payload = payload.value;
  if (edited.mode !== before.mode) body.mode = edited.mode;
  return { body, wrong };
}
