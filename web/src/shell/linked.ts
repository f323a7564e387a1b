// A link from a notification names its workspace: the page moves there before it shows anything.

import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";
import { client, setCsrf } from "../api/client";
import type { Who } from "../api/session";
import { sayProblem } from "../kit/acting";

type Search = Record<string, string | undefined>;

/** Takes the workspace out of the address; true while the page moves to it. */
export function useLinkedWorkspace(who: Who | undefined): boolean {
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
      sayProblem(problem);
      stay();
    });
    // Once for each address and workspace.
  }, [linked, here, elsewhere]);
  return elsewhere;
}

const isMember = (who: Who | undefined, id: string) =>
  Boolean(who?.workspaces.some((one) => one.id === id));

function withoutWorkspace(address: string): string {
  const made = new URL(address);
  made.searchParams.delete("workspace");
  return made.href;
}
