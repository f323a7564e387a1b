// The session: the user, their workspace, and the permissions of their role.

import { createContext, useContext } from "react";
import type { Answer } from "./client";
import { t } from "../strings";

export type Session = Answer<"read_session">;
export type Role = Session["role"];

const ROLES: readonly Role[] = ["viewer", "operator", "editor", "admin", "owner"];

const Context = createContext<Session | null>(null);
export const WhoProvider = Context.Provider;

/** The signed-in user; only for screens inside the shell. */
export function useSession(): Session {
  const who = useContext(Context);
  if (!who) throw new Error(t.api.youAreNotSignedIn);
  return who;
}

export const isAtLeast = (who: Session, role: Role) =>
  ROLES.indexOf(who.role) >= ROLES.indexOf(role);

/** The page hides what a role is not allowed to do; the server enforces it. */
export function useHasRole(role: Role): boolean {
  return isAtLeast(useSession(), role);
}

/** The roles that a user of this role can assign, the least privileged first. */
export const rolesUpTo = (role: Role): Role[] => ROLES.slice(0, ROLES.indexOf(role) + 1);

/** The default name of the owner until they set one. */
export const isUnnamed = (user: Session["user"]) => user.email.endsWith("@localhost");
