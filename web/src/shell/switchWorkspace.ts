// Switching the workspace: a loaded page shows one of them for its lifetime.
//
// All tabs of a browser share one session. A tab whose session has another workspace is reloaded,
// so that what it shows and what it changes always belong to the same workspace.

import { client, setCsrf } from "../api/client";
import type { Session } from "../api/session";

/** Whether the user or the workspace has changed. */
export const isElsewhere = (shown: Session, now: Session): boolean =>
  shown.user.id !== now.user.id || shown.workspace.id !== now.workspace.id;

/** Switches the session to another workspace; `home` opens the first screen. */
export async function switchWorkspace(id: string, home: () => Promise<void>): Promise<void> {
  await home();
  // The user may have cancelled because of unsaved changes.
  if (location.pathname !== "/") return;
  // The choice is also the default for the next sign-in.
  await client.PATCH("/api/v1/me", { body: { default_workspace_id: id } });
  await client.POST("/api/v1/session/workspace", { body: { workspace_id: id } });
  location.reload();
}

/** The other workspace that a link names; null if it names none, or the current one. */
export function workspaceOfLink(shown: string, address: string): string | null {
  const named = new URL(address).searchParams.get("workspace");
  return named && named !== shown ? named : null;
}

/** Follows a link into another workspace; without membership, nothing happens. */
export async function followLink(id: string, who: Session): Promise<void> {
  const address = new URL(location.href);
  address.searchParams.delete("workspace");
  setCsrf(who.csrf_token);
  try {
    await client.POST("/api/v1/session/workspace", { body: { workspace_id: id } });
  } finally {
    location.replace(address);
  }
}
