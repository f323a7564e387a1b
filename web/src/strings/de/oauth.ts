import type { Strings } from "..";
import { rich } from "../rich";

export const oauth: Strings["oauth"] = {
  view: "Ansehen",
  viewAndOperate: "Ansehen und bedienen",
  viewOperateAndEdit: "Ansehen, bedienen und ändern",
  itCanAlsoSendThe:
    "Er kann damit auch selbst erstellte Entwürfe senden, ohne dass jemand anders freigibt.",
  yourAnswerIsSentTo: "Deine Antwort geht an ",
  aProgramOnThisComputer: "ein Programm auf diesem Rechner",
  yourAnswerIsSentToThe: "Deine Antwort geht an die App für ",
  links: "-Links.",
  theClientChoseThisName:
    "Diesen Namen hat der Client selbst gewählt. Nur zustimmen, wenn du diese Adresse kennst und von dort kommst.",
  theClientChoseThisNameItself:
    "Diesen Namen hat der Client selbst gewählt. Nur zustimmen, wenn du gerade selbst die Verbindung begonnen hast.",
  permissions: "Berechtigungen",
  youCanGiveLessThan: "Du kannst weniger geben, als er verlangt.",
  theClientLeavesThisTo:
    "Der Client überlässt dir die Wahl. Du kannst mit dem Geringsten anfangen.",
  requested: "angefragt",
  everythingAboveAnd: "Alles darüber, und:",
  ofWhichMakeChanges: (changing) => `, davon ändern ${changing} etwas`,
  noneOfWhichMakesChanges: ", davon ändert keine etwas",
  createsADraftFirst: "erstellt zuerst einen Entwurf",
  makesChanges: "ändert etwas",
  dontAllow: "Nicht erlauben",
  allow: "Erlauben",
  mcpClients: "MCP-Clients",
  youCanDisconnectItAt: (link) =>
    rich`Du kannst ihn jederzeit unter ${link} trennen. Für mehr Berechtigungen muss er dich erneut fragen.`,
  allowToConnect: (name) => `„${name}“ verbinden lassen?`,
  itActsAsInThe: (name, name2) => rich`Er handelt als ${name} im Workspace ${name2}.`,
  workspace: "Workspace",
  itActsAsInThis: (me) => `Er handelt als ${me} nur in diesem Workspace.`,
  youAgreedToForThis: (role, at) => `Du hast diesem Client am ${at} „${role}“ erlaubt.`,
  returningTo: (name) => `Zurück zu ${name} …`,
  loading: "Wird geladen",
  asksForNoMoreThan: (name, name2) =>
    `„${name}“ verlangt nicht mehr, als du in ${name2} schon erlaubt hast.`,
  isConnected: (name) => `„${name}“ ist verbunden`,
  youDeclined: "Du hast abgelehnt",
  theClientContinuesFromHere:
    "Der Client macht weiter. Wenn nichts passiert, die Schaltfläche verwenden; danach kann die Seite geschlossen werden.",
  theClientIsNotifiedAnd:
    "Der Client wird informiert und erhält keinen Zugriff. Die Seite kann geschlossen werden.",
  backToTheClient: "Zurück zum Client",
  connectedClients: "Verbundene Clients",
  connectAClientMainspring: "Client verbinden · Mainspring",
  aClientAsksForAccess: "Ein Client bittet um Zugriff. Zum Antworten anmelden.",
  thisRequestHasEnded: "Diese Anfrage ist beendet",
  theRequestCannotBeShown: "Die Anfrage kann nicht angezeigt werden",
  showConnectedClients: "Verbundene Clients anzeigen",
  oneMoment: "Einen Moment …",
  mainspring: "Mainspring",
};
