// The editor of an automation: the version in force, the version of a run, or a new one.

import { useParams } from "@tanstack/react-router";
import { api, type Schemas } from "../../api/client";
import { useRawResponse } from "../../api/rawResponse";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { findInexactNumbers, rawValue } from "../../kit/exactJson";
import { EditorPane } from "./EditorPane";
import { NewDefinition } from "./NewDefinition";
import { samplesOf, useLatestSamples } from "./samples";

export default function Edit() {
  const { automationId } = useParams({ strict: false }) as { automationId: string };
  const [{ run }] = useUrlState();
  if (automationId === "new") return <NewDefinition />;
  return run
    ? <FromRun automationId={automationId} runId={run} />
    : <InForce automationId={automationId} />;
}

type Read<T> = { found: T; lost: string[] };

/** A response, and the numbers of its definition that parsing would change. */
const readIn = <T,>(text: string): Read<T> => ({
  found: JSON.parse(text) as T,
  lost: findInexactNumbers(rawValue(text, "definition") ?? ""),
});
const automationIn = readIn<Schemas["AutomationDetail"]>;
const versionIn = readIn<Schemas["VersionDetail"]>;

const at = (automation_id: string) => ({ params: { path: { automation_id } } });

/** The version in force, with the values of its latest run as samples. */
function InForce({ automationId }: { automationId: string }) {
  const path = `/api/v1/automations/${encodeURIComponent(automationId)}`;
  const automation = useRawResponse(path, { select: automationIn });
  const samples = useLatestSamples(automationId);
  return (
    <QueryResult of={automation} lines={10}>
      {({ found, lost }) => (
        <EditorPane
          key={found.id}
          automation={found}
          start={found.definition}
          samples={samples}
          lost={lost}
        />
      )}
    </QueryResult>
  );
}

/** The version of a run, with that run's values as samples. */
function FromRun({ automationId, runId }: { automationId: string; runId: string }) {
  const automation = api.useQuery("get", "/api/v1/automations/{automation_id}", at(automationId));
  const run = api.useQuery("get", "/api/v1/runs/{run_id}", {
    params: { path: { run_id: runId } },
  });
  const number = run.data?.version;
  const version = useRawResponse(
    `/api/v1/automations/${encodeURIComponent(automationId)}/versions/${number}`,
    { enabled: number !== undefined, select: versionIn },
  );
  return (
    <QueryResult of={automation} lines={10}>
      {(found) => (
        <QueryResult of={run} lines={10}>
          {(ran) => (
            <QueryResult of={version} lines={10}>
              {({ found: used, lost }) => (
                <EditorPane
                  key={runId}
                  automation={found}
                  start={used.definition}
                  samples={samplesOf(ran)}
                  from={{ run: runId, version: used.version }}
                  lost={lost}
                />
              )}
            </QueryResult>
          )}
        </QueryResult>
      )}
    </QueryResult>
  );
}
