// A notification link names its workspace: the session switches to it before anything is shown.

import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";
import { client, setCsrf } from "../api/client";
import type { Session } from "../api/session";
import { notifyProblem } from "../kit/useAction";

type Search = Record<string, string | undefined>;

/** Removes the workspace from the URL; true while the session switches to it. */
export function useLinkedWorkspace(who: Session | undefined): boolean {
  const linked = useRouterState({
    select: ({ location }) => (location.search as Search).workspace,
  });
  const navigate = useNavigate();
  const here = who?.workspace.id;
  const elsewhere = Boolean(linked && here !== linked && isMember(who, linked));
  useEffect(() => {
    if (!who || !linked) return;
    const stay = () =>
      void navigate({
        to: ".",
        replace: true,
        search: (({ workspace: _, ...rest }: Search) => rest) as never,
      });
    if (!elsewhere) return stay();
    const move = async () => {
      setCsrf(who.csrf_token);
      await client.POST("/api/v1/session/workspace", { body: { workspace_id: linked } });
      location.replace(withoutWorkspace(location.href));
    };
    move().catch((problem) => {
      notifyProblem(problem);
      stay();
    });
    // Once per URL and workspace.
  }, [linked, here, elsewhere]);
  return elsewhere;
}

const isMember = (who: Session | undefined, id: string) =>
  Boolean(who?.workspaces.some((one) => one.id === id));

function withoutWorkspace(address: string): string {
  const made = new URL(address);
  made.searchParams.delete("workspace");
  return made.href;
}
