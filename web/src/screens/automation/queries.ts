// The queries of this screen; identical ones share one request.

import { api, refresh } from "../../api/client";
import { Problem } from "../../api/problem";

const ONE = "/api/v1/automations/{automation_id}";
const path = (automation_id: string) => ({ params: { path: { automation_id } } });

export const useAutomation = (id: string) => api.useQuery("get", ONE, path(id));
export const useTriggers = (id: string) => api.useQuery("get", `${ONE}/triggers`, path(id));
export const useForecast = (id: string) => api.useQuery("get", `${ONE}/forecast`, path(id));
export const useGrants = (id: string) => api.useQuery("get", `${ONE}/grants`, path(id));

/** The open consent of the automation, if any; the newest first. */
export function useConsent(id: string, enabled: boolean) {
  const query = { automation_id: id, status: "any" as const, limit: 1 };
  const consents = api.useQuery("get", "/api/v1/consents", { params: { query } }, { enabled });
  const found = consents.data?.consents.find((one) =>
    one.status === "waiting" || one.status === "refused"
  );
  return { ...consents, consent: enabled ? found ?? null : null };
}

export type Consent = NonNullable<ReturnType<typeof useConsent>["consent"]>;

/** Invalidates everything about automations after a change. */
export const refreshAll = () => refresh("/api/v1/automations", "/api/v1/consents", "/api/v1/runs");

/** The HTTP status of a failed query; 0: no failure, or no response. */
export const statusOf = (problem: unknown) => problem instanceof Problem ? problem.status : 0;
