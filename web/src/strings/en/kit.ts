import { translated } from "../translated";

export const kit = /* @__PURE__ */ translated("kit", {
  cancel: "Cancel",
  copy: "Copy",
  copied: "Copied",
  copyForPrograms: "Copy for programs",
  copyAsCurl: "Copy as curl",
  copyAsMcpCall: "Copy as MCP call",
  copyTheLink: "Copy the link",
  goToIntegrations: "Go to Integrations",
  goToYourSettings: "Go to your settings",
  tryAgain: "Try again",
  copyTheProblem: "Copy the problem",
  stillWorking: "Still working …",
  close: "Close",
  copy2: (label: string) => `Copy ${label}`,
  hasMoreDigitsThanA: (token: string, token2: number) =>
    `${token} has more digits than a browser can keep: it would become ${token2}. Write it as text, in quotes, or send it with a command`,
  isLargerThanAnyNumber: (token: string) => `${token} is larger than any number that can be stored`,
  appearsTwiceAndOnlyOne: (token: string) =>
    `${token} appears twice, and only one of the two can be kept`,
});
