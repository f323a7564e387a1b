import type { Strings } from "..";
import { count } from "./plural";

export const counts: Strings["counts"] = {
  halts: (n) => count(n, "Stopp", "Stopps"),
  tools: (n) => count(n, "Werkzeug", "Werkzeuge"),
  runs: (n) => count(n, "Lauf", "Läufe"),
  problems: (n) => count(n, "Problem", "Probleme"),
  warnings: (n) => count(n, "Warnung", "Warnungen"),
  calls: (n) => count(n, "Aufruf", "Aufrufe"),
  missedRuns: (n) => count(n, "verpasster Lauf", "verpasste Läufe"),
  moments: (n) => count(n, "Zeitpunkt", "Zeitpunkte"),
  differences: (n) => count(n, "Unterschied", "Unterschiede"),
  tries: (n) => count(n, "Versuch", "Versuche"),
  asks: (n) => count(n, "Anfrage", "Anfragen"),
  drafts: (n) => count(n, "Entwurf", "Entwürfe"),
  additions: (n) => count(n, "Ergänzung", "Ergänzungen"),
  rows: (n) => count(n, "Zeile", "Zeilen"),
  automationsWait: (n) => count(n, "Automatisierung braucht", "Automatisierungen brauchen"),
  days: (n) => count(n, "Tag", "Tage"),
  automations: (n) => count(n, "Automatisierung", "Automatisierungen"),
  webhookTokens: (n) => count(n, "Webhook-Token", "Webhook-Tokens"),
};
