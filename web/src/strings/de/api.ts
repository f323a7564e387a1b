import type { Strings } from "..";

export const api: Strings["api"] = {
  theServerDoesNotRespond: "Der Server antwortet nicht. Bitte gleich noch einmal versuchen.",
  somethingWentWrong: "Etwas ist schiefgelaufen.",
  tryAgainInSeconds: (text, ceil) => `${text} Erneut versuchen in ${ceil} Sekunden.`,
  youAreNotSignedIn: "Du bist nicht angemeldet.",
};
