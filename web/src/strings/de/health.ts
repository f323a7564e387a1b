import type { Strings } from "..";
import { count, plural } from "./plural";
import { rich } from "../rich";

export const health: Strings["health"] = {
  server: "Server",
  database: "Datenbank",
  schedules: "Zeitpläne",
  workers: "Worker",
  events: "Ereignisse",
  storage: "Speicher",
  checkThatTheServerIs: "Prüfen, ob der Server läuft, dann die letzten Logzeilen lesen.",
  checkThatPostgresIsRunning:
    "Prüfen, ob Postgres läuft und die Festplatte nicht voll ist. `mainspring doctor` zeigt mehr.",
  startASchedulerMainspringUp:
    "Scheduler starten: `mainspring up` startet alles, `mainspring scheduler` nur den Scheduler.",
  startAWorkerMainspringUp:
    "Worker starten: `mainspring up` startet alles, `mainspring worker` nur einen Worker.",
  startASchedulerItProcesses:
    "Scheduler starten: Er verarbeitet Ereignisse und startet deren Automatisierungen.",
  queue: "Warteschlange",
  runDueTheOldestFor: (due, oldest) =>
    `${count(due, "Lauf", "Läufe")} fällig, der älteste seit ${oldest}.`,
  addWorkersMainspringUpWorkers: "Worker hinzufügen: `mainspring up --workers 4`.",
  databaseLatency: "Datenbank-Latenz",
  theLastQueryTook: (took) => `Die letzte Abfrage dauerte ${took}.`,
  theMachineMayBeBusy: "Der Rechner ist ausgelastet oder seine Festplatte langsam.",
  workersAreAvailablePendingRun: (pending) =>
    `Worker sind verfügbar. ${
      count(pending, "ausstehender Lauf", "ausstehende Läufe")
    } dieses Workspace ${
      plural(pending, "wartet", "warten")
    } auf einen früheren Lauf derselben Automatisierung oder das Ende eines Stopps.`,
  noRunIsWaitingFor: "Kein Lauf wartet auf einen Worker.",
  disk: "Festplatte",
  gbOfGbFree: (free, all) => `${free} GB von ${all} GB frei.`,
  freeUpSpaceTheDatabase: "Platz schaffen: Bei voller Festplatte stoppt die Datenbank.",
  scriptSandbox: "Skript-Sandbox",
  aVulnerabilityInTheScript: "Eine Lücke im Skript-Runner allein gibt einem Skript keinen Zugriff.",
  theSandboxHasFewerLayers: "Die Sandbox hat weniger Schichten als möglich.",
  notWorking: (bad) => `Funktioniert nicht: ${bad}`,
  workingWithWarning: (warned) => `Funktioniert, mit ${count(warned, "Warnung", "Warnungen")}`,
  allSystemsAreWorking: "Alles funktioniert",
  theWholeWorkspace: "Der ganze Workspace",
  anAutomation: "Eine Automatisierung",
  theRecipeInEveryWorkspace: (recipe, everywhere) =>
    `Das Rezept ${recipe}${everywhere ? ", in jedem Workspace" : ""}`,
  halts: "Stopps",
  theWholeWorkspaceIsHalted: "Der ganze Workspace ist angehalten.",
  areActive: "sind aktiv",
  isActive: "ist aktiv",
  heldRunsContinueWhenYou: "Angehaltene Läufe gehen weiter, wenn der Stopp unten aufgehoben wird.",
  by: (haltedBy) => ` von ${haltedBy}`,
  since: (haltedAt, haltedBy) => `seit ${haltedAt}${haltedBy}`,
  halted: (since) => `Angehalten ${since}`,
  halted2: (halt, since) => `${halt}: angehalten ${since}`,
  runHeld: (held) => `${count(held, "Lauf", "Läufe")} angehalten.`,
  noRunIsHeldYet: "Noch kein Lauf angehalten.",
  runNotStoppedYet: (underWay) => `${count(underWay, "Lauf", "Läufe")} noch nicht gestoppt.`,
  newTriggersAreHeldToo: "Auch neue Auslösungen warten, bis der Stopp aufgehoben wird.",
  anAdministratorReleasesIt: "Eine Administratorin oder ein Administrator hebt ihn auf.",
  release: "Aufheben",
  release2: (halt) => `${halt} aufheben`,
  reason: (reason) => `Grund: ${reason}`,
  currentRunsAreInterruptedAnd: (automation) =>
    `Aktuelle Läufe werden unterbrochen und mit ihrem Stand angehalten. Auch neue Auslösungen warten, und kein Entwurf ${
      automation ? "dieser Automatisierung " : ""
    }kann gesendet werden. Nichts geht verloren, und nichts läuft weiter, bis jemand den Stopp aufhebt.`,
  reason2: "Grund",
  shownToEveryoneWhoSees: "Wird allen angezeigt, die den Stopp sehen.",
  cancelTheCurrentRunsInstead: "Aktuelle Läufe abbrechen, statt sie anzuhalten",
  notNow: "Nicht jetzt",
  halt: "Anhalten",
  haltEverything: "Alles anhalten",
  halt2: (name) => `${name} anhalten?`,
  haltEverythingInThisWorkspace: "Alles in diesem Workspace anhalten?",
  noHaltsEveryDueRun: "Keine Stopps. Jeder fällige Lauf wird gestartet.",
  haltEverything2: "Alles anhalten…",
  notStoppedYet: (underWay) => ` · ${underWay} noch nicht gestoppt`,
  runHeld2: (time, haltedBy, held, underWay) =>
    rich`${time}${haltedBy} · ${count(held, "Lauf", "Läufe")} angehalten${underWay}`,
  noWorkerIsRunningRuns: "Kein Worker läuft. Läufe warten, bis einer gestartet wird.",
  loadPerQueue: "Last pro Warteschlange",
  addWorkersWhereTheOldest:
    "Worker hinzufügen, wo der älteste Lauf länger als ein paar Sekunden wartet. Angehaltene Läufe warten auf das Aufheben, nicht auf einen Worker.",
  worker: "Worker",
  queues: "Warteschlangen",
  inFlight: "In Arbeit",
  started: "Gestartet",
  actions: "Aktionen",
  of: (inFlight, slots) => `${inFlight} von ${slots}`,
  itTakesNoNewRuns:
    "Er nimmt keine neuen Läufe und stoppt, wenn seine aktuellen beendet oder zurückgegeben sind.",
  draining: "wird geleert",
  drainTheWorker: (name) => `Worker ${name} leeren?`,
  itTakesNoNewRunsFinishes:
    "Er nimmt keine neuen Läufe, beendet seine aktuellen oder gibt sie zurück und stoppt. Das lässt sich nicht rückgängig machen: Er bleibt gestoppt, bis jemand ihn neu startet, ein Worker von „mainspring up“ bis zum Neustart des Servers.",
  drain: "Leeren",
  drain2: "Leeren…",
  drain3: (name) => `${name} leeren`,
  due: "Fällig",
  oldest: "Älteste",
  held: "Angehalten",
  slots: "Plätze",
  working: "funktioniert",
  warning: "Warnung",
  notWorking2: "funktioniert nicht",
  liveUpdates: "Live-Aktualisierung",
  changesAppearImmediately: "Änderungen erscheinen sofort.",
  reconnecting: "Verbindung wird wiederhergestellt.",
  systemHealth: "Systemzustand",
  version: (version) => ` · Version ${version}`,
  checkedEveryTenSeconds: (version) => `Alle zehn Sekunden geprüft${version}`,
  copyReport: "Bericht kopieren",
  checkHealth: "Zustand prüfen",
  prometheusMetrics: "Prometheus-Metriken",
  runsInTheLastHour: "Läufe der letzten Stunde in diesem Workspace",
  layersOfTheScriptSandbox: "Schichten der Skript-Sandbox",
  maintenance: "Wartung",
  aBackupConsistsOfThe:
    "Ein Backup besteht aus Datenbank, Hauptschlüssel und Dateien. Den Schlüssel getrennt aufbewahren.",
  runOnTheServerFor: (code) => rich`${code} auf dem Server prüft genauer und nennt Abhilfen.`,
  returnsAnErrorStatusWhen: (code) =>
    rich`${code} liefert bei Störungen einen Fehlerstatus. Dort kann das Monitoring ansetzen.`,
};
