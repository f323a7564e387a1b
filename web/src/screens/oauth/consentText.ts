// The texts of the consent screen, as pure functions of the server's response.

import type { Schemas } from "../../api/client";

export type ClientRequest = Schemas["ClientRequest"];
export type Choice = Schemas["ChoiceShape"];
export type Tool = Schemas["OfferedTool"];
type Destination = Schemas["RedirectShape"];
type Role = Schemas["Role"];

const TITLES: Partial<Record<Role, string>> = {
  viewer: "Look",
  operator: "Look and operate",
  editor: "Look, operate and change",
};
export const titleOf = (role: Role): string => TITLES[role] ?? role;

/** Easily overlooked consequences of a choice. */
export const careOf = (role: Role): string | null =>
  role === "operator"
    ? "With this it can also send the drafts that it makes itself: nobody else has to look."
    : null;

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
  if (place.kind === "web") return { lead: "Your answer goes to ", name: place.name, rest: "." };
  if (place.kind === "loopback") {
    return { lead: "Your answer goes to ", name: "a program on this computer", rest: "." };
  }
  return {
    lead: "Your answer goes to the app that opens ",
    name: `${place.name}:`,
    rest: " links.",
  };
}

/** What to check before agreeing. */
export function describeCautions(place: Destination): string {
  return place.kind === "web"
    ? "The name above is what the client calls itself. Agree only if you know this address and came from there."
    : "The name above is what the client calls itself. Agree only if you have just begun to connect it yourself.";
}

// The server returns no other schemes; a browser would execute these.
const RUN_BY_BROWSERS = /^\s*(javascript|data|vbscript|blob|file):/i;

export const mayGoTo = (address: string): boolean => !RUN_BY_BROWSERS.test(address);
