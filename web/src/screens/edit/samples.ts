// Sample values of a past run, by their template names.

import { useMemo } from "react";
import { api, type Schemas } from "../../api/client";
import type { Samples } from "../../form";

export function samplesOf(
  run: Pick<Schemas["RunDetail"], "inputs" | "payload" | "steps">,
): Samples {
  const steps: Record<string, unknown> = {};
  for (const { step, status, output, item } of run.steps) {
    // Inside a loop the first item represents all.
    if (status === "succeeded" && output !== undefined && (!item || !(step in steps))) {
      steps[step] = output;
    }
  }
  return { inputs: run.inputs ?? undefined, payload: run.payload ?? undefined, steps };
}

/** The values of an automation's latest run; empty until there is one. */
export function useLatestSamples(automationId: string | null | undefined): Samples | undefined {
  const runs = api.useQuery("get", "/api/v1/runs", {
    params: { query: { automation_id: automationId ?? "", limit: 1 } },
  }, { enabled: !!automationId });
  const latest = runs.data?.items[0]?.id;
  const run = api.useQuery("get", "/api/v1/runs/{run_id}", {
    params: { path: { run_id: latest ?? "" } },
  }, { enabled: !!latest });
  return useMemo(() => (run.data ? samplesOf(run.data) : undefined), [run.data]);
}
