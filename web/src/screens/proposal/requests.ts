// A proposal in the query cache: fetched once, and replaced by each newer response.

import { api, client, queries, refresh } from "../../api/client";
import type { Edit } from "../../review/edits";
import type { Definition, Proposal } from "../../review/reviewText";

const PATH = "/api/v1/proposals/{proposal_id}";
const requestParams = (id: string) => ({ params: { path: { proposal_id: id } } });
const keyOf = (id: string) => api.queryOptions("get", PATH, requestParams(id)).queryKey;

export const useProposal = (id: string) => api.useQuery("get", PATH, requestParams(id));

/** The server's latest response is the newest revision. */
export function keepProposal(proposal: Proposal): void {
  queries.setQueryData(keyOf(proposal.proposal_id), proposal);
}

export type Refinement = {
  revision: number;
  answers?: Record<string, unknown>;
  edits?: Edit[];
  definition?: Definition;
  instruction?: string;
  by?: "auto" | "rules" | "model";
};

export async function refine(id: string, body: Refinement): Promise<Proposal> {
  const { data } = await client.POST("/api/v1/proposals/{proposal_id}/refine", {
    ...requestParams(id),
    body: body as never,
  });
  return data as Proposal;
}

export async function lookAgain(id: string): Promise<Proposal> {
  const { data } = await client.GET(PATH, requestParams(id));
  return data as Proposal;
}

export async function discard(id: string): Promise<void> {
  await client.DELETE(PATH, requestParams(id));
  queries.removeQueries({ queryKey: keyOf(id) });
  await queries.invalidateQueries({ queryKey: ["get", "/api/v1/proposals"] });
}

export async function save(id: string, digest: string, note?: string) {
  const { data } = await client.POST("/api/v1/proposals/{proposal_id}/save", {
    ...requestParams(id),
    body: { digest, ...(note ? { coexistence_note: note } : {}) },
  });
  await refresh("/api/v1/proposals", "/api/v1/automations");
  return data!;
}
