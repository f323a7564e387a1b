import type { Strings } from "..";

export const kit: Strings["kit"] = {
  cancel: "Abbrechen",
  copy: "Kopieren",
  copied: "Kopiert",
  copyForPrograms: "Für Programme kopieren",
  copyAsCurl: "Als curl kopieren",
  copyAsMcpCall: "Als MCP-Aufruf kopieren",
  copyTheLink: "Link kopieren",
  goToIntegrations: "Zu den Integrationen",
  goToYourSettings: "Zu deinen Einstellungen",
  tryAgain: "Erneut versuchen",
  copyTheProblem: "Problem kopieren",
  stillWorking: "In Arbeit …",
  close: "Schließen",
  copy2: (label) => `${label} kopieren`,
  hasMoreDigitsThanA: (token, token2) =>
    `${token} hat mehr Stellen, als ein Browser speichern kann: Daraus würde ${token2}. Als Text in Anführungszeichen schreiben oder mit einem Befehl senden`,
  isLargerThanAnyNumber: (token) =>
    `${token} ist größer als jede Zahl, die gespeichert werden kann`,
  appearsTwiceAndOnlyOne: (token) =>
    `${token} kommt zweimal vor, nur einer der beiden Werte kann gespeichert werden`,
};
