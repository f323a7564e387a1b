// The real values of a past run, by the names that templates know them by.

import type { Schemas } from "../../api/client";
import type { Samples } from "../../form";

export function samplesOf(
  run: Pick<Schemas["RunDetail"], "inputs" | "payload" | "steps">,
): Samples {
  const steps: Record<string, unknown> = {};
  for (const { step, status, output, item } of run.steps) {
    // Inside of a loop the first item stands for all.
    if (status === "succeeded" && output !== undefined && (!item || !(step in steps))) {
      steps[step] = output;
    }
  }
  return { inputs: run.inputs ?? undefined, payload: run.payload ?? undefined, steps };
}
