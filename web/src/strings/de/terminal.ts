import type { Strings } from "..";
import { rich } from "../rich";

export const terminal: Strings["terminal"] = {
  signInATerminal: "Terminal anmelden",
  theTerminalActsAsYou: (name) =>
    `Das Terminal handelt als du in ${name}. Nur einen Code bestätigen, der in deinem eigenen Terminal steht.`,
  inTheSettings: "in den Einstellungen",
  theTerminalIsSignedIn: (link) =>
    rich`Das Terminal ist angemeldet. Die Sitzung lässt sich ${link} beenden.`,
  theTerminalWasDeclinedIt: "Das Terminal wurde abgelehnt. Es hat keinen Zugriff.",
  codeShownInTheTerminal: "Code im Terminal",
  aTerminal: "Ein Terminal",
  requestedFromAt: (label, address, createdAt) =>
    `${label}, angefragt von ${address} am ${createdAt}.`,
  signInThisTerminal: "Dieses Terminal anmelden",
  decline: "Ablehnen",
  next: "Weiter",
};
