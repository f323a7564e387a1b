// Updating a workflow, and the permissions that its roster gives the user.

import { client, refresh } from "../../api/client";
import { isAtLeast, useSession } from "../../api/session";
import type { operations } from "../../api/schema";
import type { WorkflowDetail } from "./progress";

type Body = NonNullable<
  operations["update_workflow"]["requestBody"]
>["content"]["application/json"];
export type Change = Omit<Body, "expected_version">;

/** Invalidates everything that shows a workflow, its automations or its board. */
export const refreshAll = () =>
  refresh("/api/v1/workflows", "/api/v1/automations", "/api/v1/boards");

/** Rejected if somebody else changed it since it was read. */
export async function changeWorkflow(held: WorkflowDetail, change: Change) {
  const { data } = await client.PATCH("/api/v1/workflows/{workflow_id}", {
    params: { path: { workflow_id: held.id } },
    body: { ...change, expected_version: held.version },
  });
  await refreshAll();
  return data;
}

/** Observers are read-only; owners and admins of the workspace also change the roster. */
export function useRights({ roster, status }: Pick<WorkflowDetail, "roster" | "status">) {
  const who = useSession();
  const mine = roster.find((one) => one.user_id === who.user.id)?.role;
  const admin = isAtLeast(who, "admin");
  const editor = isAtLeast(who, "editor");
  return {
    change: admin || (editor && (mine !== "observer" || status === "archived")),
    own: admin || (editor && mine === "owner"),
  };
}
