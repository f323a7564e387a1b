// The session: the user, their workspace, and the permissions of their role.

import { createContext, useContext } from "react";
import type { Answer } from "./client";

export type Who = Answer<"read_session">;
export type Role = Who["role"];

const ROLES: readonly Role[] = ["viewer", "operator", "editor", "admin", "owner"];

const Context = createContext<Who | null>(null);
export const WhoProvider = Context.Provider;

/** The signed-in user; only for screens inside the shell. */
export function useWho(): Who {
  const who = useContext(Context);
  if (!who) throw new Error("Nobody is signed in here.");
  return who;
}

export const isAtLeast = (who: Who, role: Role) => ROLES.indexOf(who.role) >= ROLES.indexOf(role);

/** The page hides what a role is not allowed to do; the server enforces it. */
export function useMay(role: Role): boolean {
  return isAtLeast(useWho(), role);
}

/** The roles that a user of this role can assign, the least privileged first. */
export const rolesUpTo = (role: Role): Role[] => ROLES.slice(0, ROLES.indexOf(role) + 1);

/** The default name of the owner until they set one. */
export const isUnnamed = (user: Who["user"]) => user.email.endsWith("@localhost");
