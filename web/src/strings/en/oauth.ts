import type { ReactNode } from "react";
import { rich } from "../rich";
import { translated } from "../translated";

export const oauth = /* @__PURE__ */ translated("oauth", {
  view: "View",
  viewAndOperate: "View and operate",
  viewOperateAndEdit: "View, operate and edit",
  itCanAlsoSendThe:
    "It can also send the drafts that it creates itself, without anyone else approving.",
  yourAnswerIsSentTo: "Your answer is sent to ",
  aProgramOnThisComputer: "a program on this computer",
  yourAnswerIsSentToThe: "Your answer is sent to the app that opens ",
  links: " links.",
  theClientChoseThisName:
    "The client chose this name itself. Agree only if you know this address and came from there.",
  theClientChoseThisNameItself:
    "The client chose this name itself. Agree only if you just started connecting it yourself.",
  permissions: "Permissions",
  youCanGiveLessThan: "You can give less than it asks for.",
  theClientLeavesThisTo: "The client leaves this to you. You can start with the least.",
  requested: "requested",
  everythingAboveAnd: "Everything above, and:",
  ofWhichMakeChanges: (changing: number) => `, ${changing} of which make changes`,
  noneOfWhichMakesChanges: ", none of which makes changes",
  createsADraftFirst: "creates a draft first",
  makesChanges: "makes changes",
  dontAllow: "Don’t allow",
  allow: "Allow",
  mcpClients: "MCP clients",
  youCanDisconnectItAt: (link: ReactNode) =>
    rich`You can disconnect it at any time under ${link}. For more permissions it must ask you again.`,
  allowToConnect: (name: string) => `Allow “${name}” to connect?`,
  itActsAsInThe: (name: ReactNode, name2: ReactNode) =>
    rich`It acts as ${name} in the workspace ${name2}.`,
  workspace: "Workspace",
  itActsAsInThis: (me: string) => `It acts as ${me} in this workspace only.`,
  youAgreedToForThis: (role: string, at: string) =>
    `You agreed to “${role}” for this client on ${at}.`,
  returningTo: (name: string) => `Returning to ${name} …`,
  loading: "Loading",
  asksForNoMoreThan: (name: string, name2: string) =>
    `“${name}” asks for no more than you agreed to before, in ${name2}.`,
  isConnected: (name: string) => `“${name}” is connected`,
  youDeclined: "You declined",
  theClientContinuesFromHere:
    "The client continues from here. If nothing happens, use the button; then you can close this page.",
  theClientIsNotifiedAnd: "The client is notified and gets no access. You can close this page.",
  backToTheClient: "Back to the client",
  connectedClients: "Connected clients",
  connectAClientMainspring: "Connect a client · Mainspring",
  aClientAsksForAccess: "A client asks for access. Sign in to answer.",
  thisRequestHasEnded: "This request has ended",
  theRequestCannotBeShown: "The request cannot be shown",
  showConnectedClients: "Show connected clients",
  oneMoment: "One moment …",
  mainspring: "Mainspring",
});
