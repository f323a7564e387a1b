// Links with a token in the URL fragment.
//
// Browsers do not send the fragment to the server. It is removed from the URL before anything else,
// so that it is in no history and in no screenshot.

import type { Schemas } from "../../api/client";

export type Link = Schemas["LinkShape"];
export type Offer = { title: string; text: string; action: string };

/** The token in a URL, if any. */
export const tokenIn = (hash: string): string => hash.replace(/^#/, "").trim();

/** Removes the token from the URL of this tab. */
export function takeToken(): string {
  const token = tokenIn(location.hash);
  if (token) history.replaceState(null, "", location.pathname + location.search);
  return token;
}

const article = (role: string) => (/^[aeiou]/.test(role) ? `an ${role}` : `a ${role}`);
const isUnnamed = (email: string) => email.endsWith("@localhost");

export const whose = (link: Link) =>
  isUnnamed(link.email) ? "the owner of this installation" : link.email;

/** What the button does. */
export function describe(link: Link): Offer {
  switch (link.purpose) {
    case "invitation":
      return {
        title: `${link.made_by ?? "Somebody"} invites you to ${link.workspace}`,
        text: `You will be ${article(link.role ?? "member")} there. The invitation is for ${
          whose(link)
        }.`,
        action: `Join ${link.workspace}`,
      };
    case "reset":
      return {
        title: "Choose a new password",
        text: `This link is for ${
          whose(link)
        }. Using it forgets the password there was and ends all sessions.`,
        action: "Go on",
      };
    case "invite":
      return {
        title: "Welcome to Mainspring",
        text: `${link.made_by || "Somebody"} made an account for ${
          whose(link)
        }. This link signs you in, once.`,
        action: "Sign in",
      };
    default:
      return {
        title: isUnnamed(link.email) ? "Welcome to Mainspring" : "Sign in",
        text: `This link signs ${whose(link)} in, once.`,
        action: "Sign in",
      };
  }
}
