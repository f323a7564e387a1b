import { translated } from "../translated";

export const api = /* @__PURE__ */ translated("api", {
  theServerDoesNotRespond: "The server does not respond. Try again in a few seconds.",
  somethingWentWrong: "Something went wrong.",
  tryAgainInSeconds: (text: string, ceil: number) => `${text} Try again in ${ceil} seconds.`,
  youAreNotSignedIn: "You are not signed in.",
});
