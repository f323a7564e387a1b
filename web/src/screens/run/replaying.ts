// What is asked of the server for a replay: only what somebody has changed.

import type { Schemas } from "../../api/client";

export type Edited = {
  inputs: string;
  payload: string;
  version: "same" | "active";
  mode: "live" | "verify" | "dry_run";
};
type Asked = Partial<Schemas["Replay"]> & { version: Edited["version"] };

function parsed(text: string): { value?: unknown; wrong?: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (problem) {
    return {
      wrong: `This is not JSON: ${
        problem instanceof Error ? problem.message : "it cannot be read"
      }.`,
    };
  }
}

/** The request for what was edited; no body while something in it cannot be read. */
export function replayOf(before: Edited, edited: Edited): {
  body?: Asked;
  wrong: { inputs?: string; payload?: string };
} {
  const inputs = parsed(edited.inputs);
  const payload = parsed(edited.payload);
  const isObject = typeof inputs.value === "object" && inputs.value !== null &&
    !Array.isArray(inputs.value);
  const wrong = {
    inputs: inputs.wrong ??
      (isObject ? undefined : "Inputs are an object, with a key for each."),
    payload: payload.wrong,
  };
  if (wrong.inputs || wrong.payload) return { wrong };
  const body: Asked = { version: edited.version };
  if (edited.inputs !== before.inputs) body.inputs = inputs.value as Record<string, unknown>;
  if (edited.payload !== before.payload) body.payload = payload.value;
  if (edited.mode !== before.mode) body.mode = edited.mode;
  return { body, wrong };
}
