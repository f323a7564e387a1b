// The texts of the consent screen, as pure functions of the server's response.

import type { Schemas } from "../../api/client";
import { t } from "../../strings";

export type ClientRequest = Schemas["ClientRequest"];
export type Choice = Schemas["ChoiceShape"];
export type Tool = Schemas["OfferedTool"];
type Destination = Schemas["RedirectShape"];
type Role = Schemas["Role"];

const TITLES: Partial<Record<Role, string>> = {
  viewer: t.oauth.view,
  operator: t.oauth.viewAndOperate,
  editor: t.oauth.viewOperateAndEdit,
};
export const titleOf = (role: Role): string => TITLES[role] ?? role;

/** Easily overlooked consequences of a choice. */
export const careOf = (role: Role): string | null =>
  role === "operator" ? t.oauth.itCanAlsoSendThe : null;

/** What a choice allows beyond the previous one, so that nothing is listed twice. */
export function additions(choices: readonly Choice[], at: number): string[] {
  const before = new Set(at > 0 ? choices[at - 1]?.allows : []);
  return (choices[at]?.allows ?? []).filter((text) => !before.has(text));
}

const ORDER: readonly Role[] = ["viewer", "operator", "editor", "admin", "owner"];

/** The tools of a client with this role. */
export const toolsFor = (tools: readonly Tool[], role: Role): Tool[] =>
  tools.filter((tool) => ORDER.indexOf(tool.role) <= ORDER.indexOf(role));

/** Where the answer is sent: the one value that a client cannot forge. */
export function describeDestination(
  place: Destination,
): { lead: string; name: string; rest: string } {
  if (place.kind === "web") {
    return { lead: t.oauth.yourAnswerIsSentTo, name: place.name, rest: "." };
  }
  if (place.kind === "loopback") {
    return { lead: t.oauth.yourAnswerIsSentTo, name: t.oauth.aProgramOnThisComputer, rest: "." };
  }
  return {
    lead: t.oauth.yourAnswerIsSentToThe,
    name: `${place.name}:`,
    rest: t.oauth.links,
  };
}

/** What to check before agreeing. */
export function describeCautions(place: Destination): string {
  return place.kind === "web"
    ? t.oauth.theClientChoseThisName
    : t.oauth.theClientChoseThisNameItself;
}

// The server returns no other schemes; a browser would execute these.
const RUN_BY_BROWSERS = /^\s*(javascript|data|vbscript|blob|file):/i;

export const mayGoTo = (address: string): boolean => !RUN_BY_BROWSERS.test(address);
