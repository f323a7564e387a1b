// The editor of an automation: the version in force, the version of a run, or a new one.

import { useParams } from "@tanstack/react-router";
import { api, type Schemas } from "../../api/client";
import { useWritten } from "../../api/rawResponse";
import { useAddress } from "../../kit/urlState";
import { Asked } from "../../kit/QueryResult";
import { inexactIn, partOf } from "../../kit/exactJson";
import { Desk } from "./EditorPane";
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

type Read<T> = { found: T; lost: string[] };

/** A response, and the numbers of its definition that parsing would change. */
const readIn = <T,>(text: string): Read<T> => ({
  found: JSON.parse(text) as T,
  lost: inexactIn(partOf(text, "definition") ?? ""),
});
const automationIn = readIn<Schemas["AutomationDetail"]>;
const versionIn = readIn<Schemas["VersionDetail"]>;

const at = (automation_id: string) => ({ params: { path: { automation_id } } });

/** The version in force, with the values of its latest run as samples. */
function InForce({ automationId }: { automationId: string }) {
  const path = `/api/v1/automations/${encodeURIComponent(automationId)}`;
  const automation = useWritten(path, { select: automationIn });
  const samples = useLatestSamples(automationId);
  return (
    <Asked of={automation} lines={10}>
      {({ found, lost }) => (
        <Desk
          key={found.id}
          automation={found}
          start={found.definition}
          samples={samples}
          lost={lost}
        />
      )}
    </Asked>
  );
}

/** The version of a run, with that run's values as samples. */
function FromRun({ automationId, runId }: { automationId: string; runId: string }) {
  const automation = api.useQuery("get", "/api/v1/automations/{automation_id}", at(automationId));
  const run = api.useQuery("get", "/api/v1/runs/{run_id}", {
    params: { path: { run_id: runId } },
  });
  const number = run.data?.version;
  const version = useWritten(
    `/api/v1/automations/${encodeURIComponent(automationId)}/versions/${number}`,
    { enabled: number !== undefined, select: versionIn },
  );
  return (
    <Asked of={automation} lines={10}>
      {(found) => (
        <Asked of={run} lines={10}>
          {(ran) => (
            <Asked of={version} lines={10}>
              {({ found: used, lost }) => (
                <Desk
                  key={runId}
                  automation={found}
                  start={used.definition}
                  samples={samplesOf(ran)}
                  from={{ run: runId, version: used.version }}
                  lost={lost}
                />
              )}
            </Asked>
          )}
        </Asked>
      )}
    </Asked>
  );
}
