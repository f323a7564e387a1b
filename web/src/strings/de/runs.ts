import type { Strings } from "..";
import { count } from "./plural";

export const runs: Strings["runs"] = {
  running: "Läuft",
  waiting: "Wartet",
  pending: "Ausstehend",
  succeeded: "Erfolgreich",
  failed: "Fehlgeschlagen",
  timedOut: "Zeit überschritten",
  dead: "Endgültig fehlgeschlagen",
  cancelled: "Abgebrochen",
  skipped: "Übersprungen",
  live: "Echt",
  dryRun: "Probelauf",
  verifyMode: "Prüfmodus",
  manually: "manuell",
  version: (version) => `Version ${version}`,
  runOf: (createdAt) => `, Lauf vom ${createdAt}`,
  selectTheRunOf: (automation, createdAt) => `Lauf von ${automation}, ${createdAt} auswählen`,
  showMore: "Mehr anzeigen",
  anyAutomation: "Alle Automatisierungen",
  noResults: "Keine Ergebnisse",
  replayRun: (runs) => `${count(runs, "Lauf", "Läufe")} wiederholen?`,
  eachRunStartsAgainWith:
    "Jeder Lauf startet neu mit denselben Eingaben und der aktiven Version. Es sind neue Läufe: Was die ersten vor dem Fehler gesendet haben, kann noch einmal gesendet werden.",
  replayThem: "Wiederholen",
  ofRunStarted: (done, all) => `${done} von ${count(all, "Lauf", "Läufen")} gestartet`,
  rejected: (problems) => `, ${problems} abgelehnt`,
  failedRunSelected: (runs) =>
    `${count(runs, "fehlgeschlagener Lauf", "fehlgeschlagene Läufe")} ausgewählt`,
  close: "Schließen",
  clearSelection: "Auswahl aufheben",
  replay: "Wiederholen…",
  runsStarted: "Gestartete Läufe",
  tryOtherFiltersRunsAre:
    "Andere Filter versuchen. Läufe bleiben so lange, wie ihre Automatisierung es festlegt.",
  noMatchingRuns: "Keine passenden Läufe",
  showAllRuns: "Alle Läufe anzeigen",
  everyRunAppearsHereAs:
    "Jeder Lauf erscheint hier, sobald ein Auslöser oder eine Person ihn startet.",
  noRunsYet: "Noch keine Läufe",
  goToAutomations: "Zu den Automatisierungen",
  runs: "Läufe",
  allRunsNewestFirst: "Alle Läufe, neueste zuerst.",
  listRuns: "Läufe auflisten",
  anyStatus: "Jeder Status",
  anyMode: "Jeder Modus",
};
