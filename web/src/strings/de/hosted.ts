import type { Strings } from "..";

export const hosted: Strings["hosted"] = {
  form: "Formular",
  loading: "Lädt",
  closed: "Dieses Formular nimmt zurzeit nichts an.",
  membersOnly: "Dieses Formular ist für Mitglieder",
  notHere: "Das Formular kann nicht angezeigt werden",
  signIn: "Anmelden",
  reload: "Neu laden",
  noForm:
    "Unter diesem Link gibt es kein Formular. Frage die Person, die ihn dir geschickt hat, nach dem aktuellen.",
  forMembers:
    "Dieses Formular ist für Mitglieder eines Workspace. Melde dich an, um es auszufüllen.",
  tooFast:
    "Das war schneller, als ein Mensch ein Formular ausfüllen kann. Warte ein paar Sekunden und sende es noch einmal.",
  expired: "Dieses Formular war zu lange offen. Sende es noch einmal: Deine Eingaben sind noch da.",
  alreadySent:
    "Du hast dieses Formular schon mit anderen Werten gesendet. Sende es noch einmal, um auch diese zu senden.",
  checkTheFields: "Bitte prüfe die markierten Felder.",
  tooOften: "Dieses Formular wurde zu oft gesendet. Warte eine Weile und sende es noch einmal.",
  tooLarge: "Die Dateien sind zu groß.",
  noConnection:
    "Das Formular konnte nicht gesendet werden. Prüfe deine Verbindung und sende es noch einmal.",
  chooseAFile: "Datei auswählen",
  removeTheFile: "Datei entfernen",
  atMostBytes: (size) => `Höchstens ${size}.`,
  pageOf: (page, pages) => `Seite ${page} von ${pages}`,
  leaveEmpty: "Dieses Feld leer lassen",
  back: "Zurück",
  next: "Weiter",
  send: "Senden",
  thankYou: "Danke. Das Formular wurde gesendet.",
  continueTo: (url) => `Weiter zu ${url}`,
  result: "Ergebnis",
};
