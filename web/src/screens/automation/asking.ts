// What the parts of this screen ask for; the same question is asked once.

import { api, refresh } from "../../api/client";
import { Problem } from "../../api/problem";

const ONE = "/api/v1/automations/{automation_id}";
const path = (automation_id: string) => ({ params: { path: { automation_id } } });

export const useAutomation = (id: string) => api.useQuery("get", ONE, path(id));
export const useTriggers = (id: string) => api.useQuery("get", `${ONE}/triggers`, path(id));
export const useForecast = (id: string) => api.useQuery("get", `${ONE}/forecast`, path(id));
export const useGrants = (id: string) => api.useQuery("get", `${ONE}/grants`, path(id));

/** What a person has to agree to before it starts, if anything; the newest comes first. */
export function useConsent(id: string, enabled: boolean) {
  const query = { automation_id: id, status: "any" as const, limit: 1 };
  const asked = api.useQuery("get", "/api/v1/consents", { params: { query } }, { enabled });
  const found = asked.data?.consents.find((one) =>
    one.status === "waiting" || one.status === "refused"
  );
  return { ...asked, consent: enabled ? found ?? null : null };
}

export type Consent = NonNullable<ReturnType<typeof useConsent>["consent"]>;

/** After a change everything that is shown of automations is asked for again. */
export const refreshAll = () => refresh("/api/v1/automations", "/api/v1/consents", "/api/v1/runs");

/** How a question was refused; 0: it was not, or nobody answered. */
export const statusOf = (problem: unknown) => problem instanceof Problem ? problem.status : 0;
