// The permissions of each role as text; each role includes the previous ones.

import { type Role, rolesUpTo, type Session } from "../../api/session";
import { t } from "../../strings";

export const ROLE_DESCRIPTIONS: Record<Role, string> = {
  viewer: t.settings.canSeeEverythingInThe,
  operator: t.settings.canAlsoStartAndStop,
  editor: t.settings.canAlsoEditAutomationsBoards,
  admin: t.settings.canAlsoInviteAndRemove,
  owner: t.settings.canAlsoAppointOwnersAnd,
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
