// Links with a token in the URL fragment.
//
// Browsers do not send the fragment to the server. It is removed from the URL before anything else,
// so that it is in no history and in no screenshot.

import type { Schemas } from "../../api/client";
import { t } from "../../strings";

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

const article = (role: string) => (/^[aeiou]/.test(role) ? t.signIn.an(role) : t.signIn.a(role));
const isUnnamed = (email: string) => email.endsWith("@localhost");

export const whose = (link: Link) =>
  isUnnamed(link.email) ? t.signIn.theOwnerOfThisInstallation : link.email;

/** What the button does. */
export function describe(link: Link): Offer {
  switch (link.purpose) {
    case "invitation":
      return {
        title: t.signIn.invitesYouTo(link.made_by ?? t.signIn.someone, link.workspace),
        text: t.signIn.youWillBeThereThe(article(link.role ?? "member"), whose(link)),
        action: t.signIn.join(link.workspace),
      };
    case "reset":
      return {
        title: t.signIn.chooseANewPassword,
        text: t.signIn.thisLinkIsForIt(whose(link)),
        action: t.signIn.continue,
      };
    case "invite":
      return {
        title: t.signIn.welcomeToMainspring,
        text: t.signIn.createdAnAccountForThis(link.made_by || t.signIn.someone, whose(link)),
        action: t.signIn.signIn,
      };
    default:
      return {
        title: isUnnamed(link.email) ? t.signIn.welcomeToMainspring : t.signIn.signIn,
        text: t.signIn.thisLinkSignsInOnce(whose(link)),
        action: t.signIn.signIn,
      };
  }
}
