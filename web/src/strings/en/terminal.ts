import type { ReactNode } from "react";
import { rich } from "../rich";
import { translated } from "../translated";

export const terminal = /* @__PURE__ */ translated("terminal", {
  signInATerminal: "Sign in a terminal",
  theTerminalActsAsYou: (name: string) =>
    `The terminal acts as you in ${name}. Confirm only a code that you see in your own terminal.`,
  inTheSettings: "in the settings",
  theTerminalIsSignedIn: (link: ReactNode) =>
    rich`The terminal is signed in. You can end its session ${link}.`,
  theTerminalWasDeclinedIt: "The terminal was declined. It has no access.",
  codeShownInTheTerminal: "Code shown in the terminal",
  aTerminal: "A terminal",
  requestedFromAt: (label: string, address: string, createdAt: string) =>
    `${label}, requested from ${address} at ${createdAt}.`,
  signInThisTerminal: "Sign in this terminal",
  decline: "Decline",
  next: "Next",
});
