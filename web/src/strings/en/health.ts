import type { ReactNode } from "react";
import { count, plural } from "./plural";
import { rich } from "../rich";
import { translated } from "../translated";

export const health = /* @__PURE__ */ translated("health", {
  server: "Server",
  database: "Database",
  schedules: "Schedules",
  workers: "Workers",
  events: "Events",
  storage: "Storage",
  checkThatTheServerIs: "Check that the server is running, then read its latest log lines.",
  checkThatPostgresIsRunning:
    "Check that Postgres is running and its disk is not full. `mainspring doctor` shows more.",
  startASchedulerMainspringUp:
    "Start a scheduler: `mainspring up` starts everything, `mainspring scheduler` only the scheduler.",
  startAWorkerMainspringUp:
    "Start a worker: `mainspring up` starts everything, `mainspring worker` only a worker.",
  startASchedulerItProcesses:
    "Start a scheduler: it processes events and starts their automations.",
  queue: "Queue",
  runDueTheOldestFor: (due: number, oldest: string) =>
    `${count(due, "run", "runs")} due, the oldest for ${oldest}.`,
  addWorkersMainspringUpWorkers: "Add workers: `mainspring up --workers 4`.",
  databaseLatency: "Database latency",
  theLastQueryTook: (took: string) => `The last query took ${took}.`,
  theMachineMayBeBusy: "The machine may be busy, or its disk is slow.",
  workersAreAvailablePendingRun: (pending: number) =>
    `Workers are available. ${count(pending, "pending run", "pending runs")} of this workspace ${
      plural(pending, "waits", "wait")
    } for an earlier run of the same automation or for the end of a halt.`,
  noRunIsWaitingFor: "No run is waiting for a worker.",
  disk: "Disk",
  gbOfGbFree: (free: string, all: string) => `${free} GB of ${all} GB free.`,
  freeUpSpaceTheDatabase: "Free up space: the database stops when the disk is full.",
  scriptSandbox: "Script sandbox",
  aVulnerabilityInTheScript:
    "A vulnerability in the script runner alone does not give a script access.",
  theSandboxHasFewerLayers: "The sandbox has fewer layers than possible.",
  notWorking: (bad: string) => `Not working: ${bad}`,
  workingWithWarning: (warned: number) => `Working, with ${count(warned, "warning", "warnings")}`,
  allSystemsAreWorking: "All systems are working",
  theWholeWorkspace: "The whole workspace",
  anAutomation: "An automation",
  theRecipeInEveryWorkspace: (recipe: unknown, everywhere: boolean) =>
    `The recipe ${recipe}${everywhere ? ", in every workspace" : ""}`,
  halts: "Halts",
  theWholeWorkspaceIsHalted: "The whole workspace is halted.",
  areActive: "are active",
  isActive: "is active",
  heldRunsContinueWhenYou: "Held runs continue when you release the halt below.",
  by: (haltedBy: string) => ` by ${haltedBy}`,
  since: (haltedAt: string, haltedBy: string) => `since ${haltedAt}${haltedBy}`,
  halted: (since: string) => `Halted ${since}`,
  halted2: (halt: string, since: string) => `${halt}: halted ${since}`,
  runHeld: (held: number) => `${count(held, "run", "runs")} held.`,
  noRunIsHeldYet: "No run is held yet.",
  runNotStoppedYet: (underWay: number) => `${count(underWay, "run", "runs")} not stopped yet.`,
  newTriggersAreHeldToo: "New triggers are held too until you release it.",
  anAdministratorReleasesIt: "An administrator releases it.",
  release: "Release",
  release2: (halt: string) => `Release ${halt}`,
  reason: (reason: string) => `Reason: ${reason}`,
  currentRunsAreInterruptedAnd: (automation: boolean) =>
    `Current runs are interrupted and held with their progress. New triggers are held too, and no draft ${
      automation ? "of this automation " : ""
    }can be sent. Nothing is lost, and nothing continues until someone releases the halt.`,
  reason2: "Reason",
  shownToEveryoneWhoSees: "Shown to everyone who sees the halt.",
  cancelTheCurrentRunsInstead: "Cancel the current runs instead of holding them",
  notNow: "Not now",
  halt: "Halt",
  haltEverything: "Halt everything",
  halt2: (name: string) => `Halt ${name}?`,
  haltEverythingInThisWorkspace: "Halt everything in this workspace?",
  noHaltsEveryDueRun: "No halts. Every due run is started.",
  haltEverything2: "Halt everything…",
  notStoppedYet: (underWay: number) => ` · ${underWay} not stopped yet`,
  runHeld2: (time: ReactNode, haltedBy: string, held: number, underWay: string) =>
    rich`${time}${haltedBy} · ${count(held, "run", "runs")} held${underWay}`,
  noWorkerIsRunningRuns: "No worker is running. Runs wait until you start one.",
  loadPerQueue: "Load per queue",
  addWorkersWhereTheOldest:
    "Add workers where the oldest run waits more than a few seconds. Held runs wait for a release, not for a worker.",
  worker: "Worker",
  queues: "Queues",
  inFlight: "In flight",
  started: "Started",
  actions: "Actions",
  of: (inFlight: number, slots: number) => `${inFlight} of ${slots}`,
  itTakesNoNewRuns:
    "It takes no new runs and stops when its current ones are finished or handed back.",
  draining: "draining",
  drainTheWorker: (name: string) => `Drain the worker ${name}?`,
  itTakesNoNewRunsFinishes:
    "It takes no new runs, finishes or hands back its current ones, and stops. You cannot undo this: it stays stopped until someone starts it again. A worker of “mainspring up” stays stopped until that server restarts.",
  drain: "Drain",
  drain2: "Drain…",
  drain3: (name: string) => `Drain ${name}`,
  due: "Due",
  oldest: "Oldest",
  held: "Held",
  slots: "Slots",
  working: "working",
  warning: "warning",
  notWorking2: "not working",
  liveUpdates: "Live updates",
  changesAppearImmediately: "Changes appear immediately.",
  reconnecting: "Reconnecting.",
  systemHealth: "System health",
  version: (version: string) => ` · version ${version}`,
  checkedEveryTenSeconds: (version: string) => `Checked every ten seconds${version}`,
  copyReport: "Copy report",
  checkHealth: "Check health",
  prometheusMetrics: "Prometheus metrics",
  runsInTheLastHour: "Runs in the last hour in this workspace",
  layersOfTheScriptSandbox: "Layers of the script sandbox",
  maintenance: "Maintenance",
  aBackupConsistsOfThe:
    "A backup consists of the database, the master key and the files. Store the key separately.",
  runOnTheServerFor: (code: ReactNode) =>
    rich`Run ${code} on the server for a detailed check with remedies.`,
  returnsAnErrorStatusWhen: (code: ReactNode) =>
    rich`${code} returns an error status when something fails. Point your monitoring at it.`,
});
