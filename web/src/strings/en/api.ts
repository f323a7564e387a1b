export const api = {
  theServerDoesNotAnswer: "The server does not answer. Try again in a moment.",
  somethingWentWrong: "Something went wrong.",
  tryAgainInSeconds: (text: string, ceil: number) => `${text} Try again in ${ceil} seconds.`,
  nobodyIsSignedInHere: "Nobody is signed in here.",
};
