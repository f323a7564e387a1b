// What waits for this person, also when the stream told so before this screen was opened.

import { api } from "../../api/client";
import { useMay } from "../../api/session";
import { useWaiting } from "../../shell/waiting";
import type { Automation } from "./looking";

const MANY = 100;
const KINDS = ["drafts", "approvals", "consents", "failures"] as const;
export type Waits = Record<(typeof KINDS)[number], number>;

/** The stream's own numbers where it told any; else what the lists hold. */
export function useWaits(automations: Automation[]): Waits {
    const told = useWaiting();
    const may = useMay("operator");
    const enabled = may && told.all === 0;
    const limited = { limit: MANY };
    const drafts = api.useQuery("get", "/api/v1/drafts", {
        params: { query: { status: "pending", ...limited } },
    }, { enabled });
    const approvals = api.useQuery("get", "/api/v1/approvals", {
        params: { query: { status: "pending", ...limited } },
    }, { enabled });
    const consents = api.useQuery("get", "/api/v1/consents", {
        params: { query: { status: "waiting", ...limited } },
    }, { enabled });
    if (told.all) return told;
    return {
        drafts: drafts.data?.items.length ?? 0,
        approvals: approvals.data?.approvals.length ?? 0,
        consents: consents.data?.consents.length ?? 0,
        failures: automations.filter((one) => one.failures > 0 && !one.acknowledged_at).length,
    };
}
