import type { ReactNode } from "react";
import { rich } from "../rich";

export const terminal = {
  signATerminalIn: "Sign a terminal in",
  theTerminalWillActAs: (name: string) =>
    `The terminal will act as you in ${name}. Confirm only a code that you see on your own terminal.`,
  inTheSettings: "in the settings",
  theTerminalIsSignedIn: (link: ReactNode) =>
    rich`The terminal is signed in. You can end its session ${link}.`,
  theTerminalWasDeclinedIt: "The terminal was declined. It has no access.",
  theCodeOnTheTerminal: "The code on the terminal",
  aTerminal: "A terminal",
  askedFromAt: (label: string, address: string, createdAt: string) =>
    `${label} asked from ${address} at ${createdAt}.`,
  signThisTerminalIn: "Sign this terminal in",
  decline: "Decline",
  next: "Next",
};
