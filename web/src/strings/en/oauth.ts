import type { ReactNode } from "react";
import { rich } from "../rich";

export const oauth = {
  look: "Look",
  lookAndOperate: "Look and operate",
  lookOperateAndChange: "Look, operate and change",
  withThisItCanAlso:
    "With this it can also send the drafts that it makes itself: nobody else has to look.",
  yourAnswerGoesTo: "Your answer goes to ",
  aProgramOnThisComputer: "a program on this computer",
  yourAnswerGoesToThe: "Your answer goes to the app that opens ",
  links: " links.",
  theNameAboveIsWhat:
    "The name above is what the client calls itself. Agree only if you know this address and came from there.",
  theNameAboveIsWhatThe:
    "The name above is what the client calls itself. Agree only if you have just begun to connect it yourself.",
  whatItMayDo: "What it may do",
  giveItAsMuchAs: "Give it as much as you want it to have; less than it asks for is fine.",
  itLeavesToYouHow: "It leaves to you how much it may do. You can begin with the least.",
  itAsksForThis: "it asks for this",
  everythingAboveAnd: "Everything above, and:",
  ofWhichChangeSomething: (changing: number) => `, ${changing} of which change something`,
  noneOfWhichChangesAnything: ", none of which changes anything",
  makesADraftFirst: "makes a draft first",
  changesSomething: "changes something",
  dontAllow: "Don’t allow",
  allow: "Allow",
  mcpClients: "MCP clients",
  youCanDisconnectItAt: (link: ReactNode) =>
    rich`You can disconnect it at any time under ${link}. More than this it gets only by asking you again.`,
  letConnect: (name: string) => `Let “${name}” connect?`,
  itWillActAsIn: (name: ReactNode, name2: ReactNode) =>
    rich`It will act as ${name} in the workspace ${name2}.`,
  workspace: "Workspace",
  itWillActAsInThis: (me: string) => `It will act as ${me} in this workspace and in no other.`,
  youAgreedToForThis: (role: string, at: string) =>
    `You agreed to “${role}” for this client on ${at}.`,
  goingBackTo: (name: string) => `Going back to ${name} …`,
  loading: "Loading",
  asksForNoMoreThan: (name: string, name2: string) =>
    `“${name}” asks for no more than you agreed to before, in ${name2}.`,
  isConnected: (name: string) => `“${name}” is connected`,
  youSaidNo: "You said no",
  theClientTakesItFrom:
    "The client takes it from here. If nothing happened, go on by hand; then you can close this page.",
  theClientIsToldSo: "The client is told so, and is given nothing. You can close this page.",
  backToTheClient: "Back to the client",
  connectedClients: "Connected clients",
  connectAClientMainspring: "Connect a client · Mainspring",
  aClientAsksToBe: "A client asks to be let in. Sign in to answer it.",
  thisQuestionIsOver: "This question is over",
  theQuestionCannotBeShown: "The question cannot be shown",
  seeWhichClientsAreConnected: "See which clients are connected",
  oneMoment: "One moment …",
  mainspring: "Mainspring",
};
