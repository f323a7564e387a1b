// The editor of an automation: the version in force, one that a run used, or a new one.

import { useParams } from "@tanstack/react-router";
import { api } from "../../api/client";
import { useAddress } from "../../kit/address";
import { Asked } from "../../kit/Asked";
import { Desk } from "./Desk";
import { NewDefinition } from "./NewDefinition";
import { samplesOf, useLatestSamples } from "./samples";

export default function Edit() {
  const { automationId } = useParams({ strict: false }) as { automationId: string };
  const [{ run }] = useAddress();
  if (automationId === "new") return <NewDefinition />;
  return run
    ? <FromRun automationId={automationId} runId={run} />
    : <InForce automationId={automationId} />;
}

const at = (automation_id: string) => ({ params: { path: { automation_id } } });

/** The version in force, with the values of its latest run to pick from. */
function InForce({ automationId }: { automationId: string }) {
  const automation = api.useQuery("get", "/api/v1/automations/{automation_id}", at(automationId));
  const samples = useLatestSamples(automationId);
  return (
    <Asked of={automation} lines={10}>
      {(found) => (
        <Desk
          key={found.id}
          automation={found}
          start={found.definition}
          samples={samples}
        />
      )}
    </Asked>
  );
}

/** The version that a run used, with that run's own values. */
function FromRun({ automationId, runId }: { automationId: string; runId: string }) {
  const automation = api.useQuery("get", "/api/v1/automations/{automation_id}", at(automationId));
  const run = api.useQuery("get", "/api/v1/runs/{run_id}", {
    params: { path: { run_id: runId } },
  });
  const number = run.data?.version;
  const version = api.useQuery("get", "/api/v1/automations/{automation_id}/versions/{version}", {
    params: { path: { automation_id: automationId, version: number ?? 1 } },
  }, { enabled: number !== undefined });
  return (
    <Asked of={automation} lines={10}>
      {(found) => (
        <Asked of={run} lines={10}>
          {(ran) => (
            <Asked of={version} lines={10}>
              {(used) => (
                <Desk
                  key={runId}
                  automation={found}
                  start={used.definition}
                  samples={samplesOf(ran)}
                  from={{ run: runId, version: used.version }}
                />
              )}
            </Asked>
          )}
        </Asked>
      )}
    </Asked>
  );
}
