// From one workspace to another: a page shows one of them as long as it lives.
//
// All tabs of a browser share one session. A tab whose session has gone elsewhere is loaded again,
// so that what it shows and what it changes are always of the same workspace.

import { client, setCsrf } from "../api/client";
import type { Who } from "../api/session";

/** Whether somebody else is here now, or the same person in another workspace. */
export const isElsewhere = (shown: Who, now: Who): boolean =>
  shown.user.id !== now.user.id || shown.workspace.id !== now.workspace.id;

/** Looks at another workspace from here on; `home` leads to the first screen. */
export async function lookAt(id: string, home: () => Promise<void>): Promise<void> {
  await home();
  // Whoever has something unsaved may have chosen to stay.
  if (location.pathname !== "/") return;
  // Where somebody chose to look is where they look next time, too.
  await client.PATCH("/api/v1/me", { body: { default_workspace_id: id } });
  await client.POST("/api/v1/session/workspace", { body: { workspace_id: id } });
  location.reload();
}

/** The other workspace that a link names; null where it names none, or the one that is shown. */
export function workspaceOfLink(shown: string, address: string): string | null {
  const named = new URL(address).searchParams.get("workspace");
  return named && named !== shown ? named : null;
}

/** Follows a link into another workspace; one that is not this person's stays where they are. */
export async function followLink(id: string, who: Who): Promise<void> {
  const address = new URL(location.href);
  address.searchParams.delete("workspace");
  setCsrf(who.csrf_token);
  try {
    await client.POST("/api/v1/session/workspace", { body: { workspace_id: id } });
  } finally {
    location.replace(address);
  }
}
