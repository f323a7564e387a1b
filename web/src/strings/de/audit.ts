import type { Strings } from "..";
import { count } from "./plural";

export const audit: Strings["audit"] = {
  action: "Aktion",
  anyAction: "Jede Aktion",
  actor: "Akteur",
  anyone: "Alle",
  aRunOrAFormer: "Ein Lauf oder ein früheres Mitglied",
  from: "Von",
  to: "Bis",
  clear: "Zurücksetzen",
  auditLog: "Audit-Log",
  yourRoleCannotReadThe:
    "Deine Rolle darf das Audit-Log nicht lesen. Ein Eigentümer des Workspace kann sie unter „Mitglieder“ ändern.",
  onlyAdminsCanReadThe: "Nur Admins können das Audit-Log lesen",
  whoDidWhatInThis:
    "Wer in diesem Workspace was getan hat und was verweigert wurde. Einträge werden nie geändert.",
  exportVisibleEntries: "Sichtbare Einträge exportieren",
  readTheAuditLog: "Audit-Log lesen",
  entryShown: (shown) => `${count(shown, "Eintrag", "Einträge")} angezeigt`,
  loadMore: "Mehr laden",
  everyChangeInThisWorkspace:
    "Jede Änderung in diesem Workspace erzeugt einen Eintrag. Andere Filter versuchen.",
  noMatchingEntries: "Keine passenden Einträge",
  detailsOf: (action) => `Details von ${action}`,
  byATokenThatCan: "mit einem Token, das freigeben darf",
  entry: "Eintrag",
  apiCall: "API-Aufruf",
  aRun: "Ein Lauf",
  unknownActor: "Unbekannt",
  formerActor: "Früheres Mitglied",
  onThePage: "in der Web-App",
  inATerminal: "in einem Terminal",
  inChannel: (channel) => `in ${channel}`,
  withAToken: "mit einem Token",
  denied: (action) => `wurde verweigert: ${action}`,
  called: (capability) => `rief auf: ${capability}`,
  asVersion: (version) => `als Version ${version}`,
  asRole: (role) => `als ${role}`,
  atHost: (host) => `bei ${host}`,
};
