import type { Strings } from "..";
import { count, plural } from "./plural";
import { rich } from "../rich";

export const edit: Strings["edit"] = {
  starters: {
    automation: "Meine Automatisierung",
    leaveAGreeting: "Im Posteingang einen Gruß hinterlassen.",
    world: "Welt",
    hello: (name) => `Hallo ${name}`,
    thisIsRun: (run) => `Das ist der Lauf ${run}.`,
    script: "Mein Skript",
    lookAtTheBoards:
      "Die Boards dieses Workspace ansehen und im Posteingang eine Notiz hinterlassen.",
    theScriptIsDone: "Das Skript ist fertig",
    itEndedAt: (at) => `Es endete um ${at}.`,
  },
  save: "Speichern",
  validate: "Prüfen",
  saveAsNewVersion: "Als neue Version speichern",
  saveAutomation: "Automatisierung speichern",
  changesFromTheActiveVersion: "Änderungen gegenüber der aktiven Version:",
  changes: "Änderungen",
  keepEditing: "Weiter bearbeiten",
  save2: "Speichern",
  errorToFixBeforeYou: (errors) =>
    `${count(errors, "Fehler", "Fehler")} vor dem Speichern beheben.`,
  itCanBeSavedWith: (warnings) =>
    `Speichern möglich, mit ${count(warnings, "Warnung", "Warnungen")}.`,
  readyToSave: "Bereit zum Speichern.",
  validating: "Wird geprüft …",
  theServerDidNotRespond:
    "Der Server hat nicht geantwortet. Die Prüfung läuft beim nächsten Bearbeiten weiter.",
  someoneElse: "jemand anderem",
  savedAsVersion: (version) => `Als Version ${version} gespeichert`,
  noChanges: "Keine Änderungen",
  thisVersionHasMorePermissions:
    "Diese Version hat mehr Berechtigungen als vereinbart. Sie läuft weiter, sobald jemand zustimmt:",
  decideInTheInbox: "Im Posteingang entscheiden",
  openTheAutomation: "Automatisierung öffnen",
  someoneSavedAnotherVersion: "Jemand hat eine andere Version gespeichert",
  versionWasSavedByWhile: (version, by) =>
    `Version ${version} wurde von ${by} gespeichert, während du bearbeitet hast. `,
  anotherVersionWasSavedWhile: "Während deiner Bearbeitung wurde eine andere Version gespeichert. ",
  yourChangesAreStillHere: (version) =>
    `${version}Deine Änderungen sind noch da. Vergleichen, Wichtiges übernehmen und darüber speichern.`,
  hideTheirChanges: (isShown) => `Deren Änderungen ${isShown ? "ausblenden" : "anzeigen"}`,
  saveOnTopOfVersion: (version) => `Über Version ${version} speichern`,
  theirChanges: "Deren Änderungen",
  seeTheFindingBelow: (findings) => `Siehe ${count(findings, "Hinweis", "Hinweise")} unten.`,
  review: "Prüfung",
  reviewAgain: "Erneut prüfen",
  review2: "Prüfen",
  reviewing: "Wird geprüft …",
  aSummaryPointsToCheck: "Zusammenfassung, Prüfpunkte, Kosten eines Laufs und alle Zugriffe.",
  changedSinceThisReview: "Seit dieser Prüfung geändert.",
  nothingToPointOut: "Keine Auffälligkeiten.",
  cost: "Kosten",
  whatItSends: "Was sie sendet",
  toCheck: "Zu prüfen",
  access: "Zugriff",
  sends: "sendet",
  reads: "liest",
  nothingBeyondItsOwnSteps: "Nichts außer den eigenen Schritten.",
  secrets: (secrets) => `Secrets: ${secrets}`,
  leaveWithoutSaving: "Ohne Speichern verlassen?",
  yourChangesAreKeptIn: "Deine Änderungen bleiben in diesem Tab erhalten.",
  leave: "Verlassen",
  edit: (name) => `${name} bearbeiten`,
  newScript: "Neues Skript",
  newAutomation: "Neue Automatisierung",
  new: "Neu",
  versionIsActiveSavingCreates: (version) =>
    `Version ${version} ist aktiv. Speichern erzeugt eine neue Version; frühere bleiben.`,
  itIsSavedPausedNothing: "Sie wird pausiert gespeichert. Nichts startet, bevor du sie aktivierst.",
  aBrowserCannotRepresentThis: (numbers, numbers2, numbers3, code) =>
    rich`Ein Browser kann ${
      plural(numbers, "diese Zahl", "diese Zahlen")
    } nicht exakt darstellen: ${numbers2}${numbers3}. Speichern würde hier mehr ändern als bearbeitet. ${code} oder die API verwenden. Eine Zahl als Text in Anführungszeichen lässt sich hier bearbeiten.`,
  readOnlyHere: "Hier nur lesbar",
  yourUnsavedChangesAreRestored: "Deine nicht gespeicherten Änderungen sind wiederhergestellt.",
  discardThem: "Verwerfen",
  thatRun: "diesem Lauf",
  thisIsVersionAsUsed: (version, link) =>
    rich`Dies ist Version ${version}, wie in ${link} verwendet. Ihre echten Werte lassen sich in jedem Vorlagenfeld auswählen.`,
};
