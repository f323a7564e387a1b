// Who is here: the person, the workspace they look at, and what their role allows.

import { createContext, useContext } from "react";
import type { Answer } from "./client";

export type Who = Answer<"read_session">;
export type Role = Who["role"];

const ROLES: readonly Role[] = ["viewer", "operator", "editor", "admin", "owner"];

const Context = createContext<Who | null>(null);
export const WhoProvider = Context.Provider;

/** Whoever is signed in; only screens inside of the shell may ask. */
export function useWho(): Who {
  const who = useContext(Context);
  if (!who) throw new Error("Nobody is signed in here.");
  return who;
}

export const isAtLeast = (who: Who, role: Role) => ROLES.indexOf(who.role) >= ROLES.indexOf(role);

/** The page hides what a role may not do; the server refuses it in any case. */
export function useMay(role: Role): boolean {
  return isAtLeast(useWho(), role);
}

/** The roles that somebody of this role can give, the least first. */
export const rolesUpTo = (role: Role): Role[] => ROLES.slice(0, ROLES.indexOf(role) + 1);

/** The owner of a new house is called so until they have said who they are. */
export const isUnnamed = (user: Who["user"]) => user.email.endsWith("@localhost");
