import type { Strings } from "..";
import { rich } from "../rich";

export const secrets: Strings["secrets"] = {
  remove: (name) => `${name} entfernen?`,
  youCannotUndoThisRuns:
    "Das lässt sich nicht rückgängig machen. Läufe, die es brauchen, schlagen mit einer Meldung fehl.",
  remove2: "Entfernen",
  isRemoved: (name) => `${name} ist entfernt.`,
  lastWritten: (description, time) => rich`${description}zuletzt geschrieben ${time}`,
  replace: "Ersetzen",
  replace2: (name) => `${name} ersetzen`,
  remove3: "Entfernen",
  remove4: (name) => `${name} entfernen`,
  isUpdated: (name) => `${name} ist aktualisiert.`,
  isSaved: (name) => `${name} ist gespeichert.`,
  addASecret: "Secret hinzufügen",
  name: "Name",
  uppercaseLettersDigitsAnd: "Großbuchstaben, Ziffern und Unterstriche",
  lowercaseLettersDigitsAnd: "Kleinbuchstaben, Ziffern und Unterstriche",
  itExistsAlreadySavingReplaces: "Schon vorhanden: Speichern ersetzt den Wert.",
  value: "Wert",
  itIsNeverShownAgain: "Wird nie wieder angezeigt.",
  description: "Beschreibung",
  cancel: "Abbrechen",
  save: "Speichern",
  secrets: "Secrets",
  encryptedWhenYouSaveThem:
    "Beim Speichern verschlüsselt, nur bei Bedarf eines Laufs verwendet und nie wieder angezeigt, auch dir nicht.",
  listSecrets: "Secrets auflisten",
  aDefinitionRefersToA: (code) =>
    rich`Eine Definition nennt ein Secret beim Namen, etwa ${code}, und enthält nie seinen Wert. Den Wert hier hinzufügen. Läufe senden ihn nur an Hosts, denen du zugestimmt hast.`,
  noSecretsYet: "Noch keine Secrets",
  noneInThisWorkspace: "Keine in diesem Workspace.",
  publisherSecrets: "Publisher-Secrets",
  aRecipeThatReadsAn: (code) =>
    rich`Ein Rezept, das eine API mit dem Schlüssel des Herausgebers liest, nennt ihn ${code}. Er wird hier gesetzt, wo das Rezept läuft.`,
  addAKey: "Schlüssel hinzufügen",
};
