// The permissions of each role as text; each role includes the previous ones.

import { type Role, rolesUpTo, type Session } from "../../api/session";

export const ROLE_DESCRIPTIONS: Record<Role, string> = {
  viewer: "Sees everything that the workspace keeps and what its runs did.",
  operator: "Also starts and stops runs, sets automations going or at rest, answers the inbox.",
  editor: "Also changes automations, boards, pages and webhooks, and keeps secrets of their own.",
  admin: "Also invites and removes members, connects models and tools, reads the audit log.",
  owner: "Also names owners and admins, and changes the workspace itself.",
};

const isHigh = (role: Role) => role === "admin" || role === "owner";

/** The roles that a user can assign: only an owner assigns owner and admin. */
export const rolesToGive = (role: Role): Role[] =>
  role === "owner" ? rolesUpTo("owner") : role === "admin" ? rolesUpTo("editor") : [];

type Member = { id: string; role: Role };

/** Whether this user may change that member; nobody changes their own role here. */
export function mayChange(who: Pick<Session, "role" | "user">, member: Member): boolean {
  if (member.id === who.user.id) return false;
  return who.role === "owner" || (who.role === "admin" && !isHigh(member.role));
}
