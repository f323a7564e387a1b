import type { ReactNode } from "react";
import { count, plural } from "./plural";
import { rich } from "../rich";

export const health = {
  server: "Server",
  database: "Database",
  schedules: "Schedules",
  workers: "Workers",
  events: "Events",
  seeWhetherTheServerIs: "See whether the server is running, then look at what it printed last.",
  seeWhetherPostgresIsRunning:
    "See whether Postgres is running and whether its disk is full; `mainspring doctor` says more.",
  startASchedulerMainspringUp:
    "Start a scheduler: `mainspring up` starts everything, `mainspring scheduler` that alone.",
  startAWorkerMainspringUp:
    "Start a worker: `mainspring up` starts everything, `mainspring worker` that alone.",
  startASchedulerItReads: "Start a scheduler: it reads the events and starts what waits for them.",
  queue: "Queue",
  runDueTheOldestFor: (due: number, oldest: string) =>
    `${count(due, "run", "runs")} due, the oldest for ${oldest}.`,
  addWorkersMainspringUpWorkers: "Add workers: `mainspring up --workers 4`.",
  answersOfTheDatabase: "Answers of the database",
  theLastLookTook: (took: string) => `The last look took ${took}.`,
  theMachineMayBeBusy: "The machine may be busy, or its disk slow.",
  noWorkerIsMissingPending: (pending: number) =>
    `No worker is missing. ${count(pending, "pending run", "pending runs")} of this workspace ${
      plural(pending, "waits", "wait")
    } for an earlier run of the same automation, or for a halt to be released.`,
  noRunWaitsForA: "No run waits for a worker.",
  disk: "Disk",
  gbOfGbAreFree: (free: string, all: string) => `${free} GB of ${all} GB are free.`,
  makeRoomBeforeItIs: "Make room before it is full: the database stops when it is.",
  wallsRoundScripts: "Walls round scripts",
  aHoleInTheScript: "A hole in the script runner alone would give a script nothing.",
  scriptsAreHeldByFewer: "Scripts are held by fewer walls than they could be.",
  notWorking: (bad: string) => `Not working: ${bad}`,
  worksWithThingToLook: (warned: number) =>
    `Works, with ${count(warned, "thing", "things")} to look at`,
  allOfItWorks: "All of it works",
  theWholeWorkspace: "The whole workspace",
  anAutomation: "An automation",
  theRecipeInEveryWorkspace: (recipe: unknown, everywhere: boolean) =>
    `The recipe ${recipe}${everywhere ? ", in every workspace" : ""}`,
  halts: "Halts",
  theWholeWorkspaceStandsStill: "The whole workspace stands still.",
  stand: "stand",
  stands: "stands",
  whatIsHeldGoesOn: "What is held goes on when it is released, below.",
  by: (haltedBy: string) => ` by ${haltedBy}`,
  since: (haltedAt: string, haltedBy: string) => `since ${haltedAt}${haltedBy}`,
  held: (since: string) => `Held ${since}`,
  held2: (halt: string, since: string) => `${halt}: held ${since}`,
  runHeld: (held: number) => `${count(held, "run", "runs")} held.`,
  noRunIsHeldYet: "No run is held yet.",
  runNotStoppedYet: (underWay: number) => `${count(underWay, "run", "runs")} not stopped yet.`,
  whateverFiresIsHeldAs: "Whatever fires is held as well, until it is released.",
  anAdministratorReleasesIt: "An administrator releases it.",
  release: "Release",
  release2: (halt: string) => `Release ${halt}`,
  because: (reason: string) => `Because: ${reason}`,
  runsUnderWayAreInterrupted: (automation: boolean) =>
    `Runs under way are interrupted and held with what they did; whatever fires meanwhile is held too, and no draft ${
      automation ? "of it " : ""
    }can be sent. Nothing is lost, and nothing goes on until somebody releases it.`,
  why: "Why",
  forEverybodyWhoFindsIt: "For everybody who finds it standing still.",
  cancelTheRunsThatAre: "Cancel the runs that are there now, instead of holding them",
  notNow: "Not now",
  haltIt: "Halt it",
  haltEverything: "Halt everything",
  halt: (name: string) => `Halt ${name}?`,
  haltEverythingInThisWorkspace: "Halt everything in this workspace?",
  nothingIsHaltedEveryRun: "Nothing is halted. Every run that is due is taken.",
  haltEverything2: "Halt everything…",
  notStoppedYet: (underWay: number) => ` · ${underWay} not stopped yet`,
  runHeld2: (time: ReactNode, haltedBy: string, held: number, underWay: string) =>
    rich`${time}${haltedBy} · ${count(held, "run", "runs")} held${underWay}`,
  noWorkerIsAliveRuns: "No worker is alive; runs wait until one is started.",
  whatEachQueueAsksOf: "What each queue asks of them",
  addWorkersWhereTheOldest:
    "Add workers where the oldest run waits for more than a few seconds. What is held waits for a release, not for a worker.",
  worker: "Worker",
  queues: "Queues",
  inFlight: "In flight",
  started: "Started",
  whatCanBeDone: "What can be done",
  of: (inFlight: number, slots: number) => `${inFlight} of ${slots}`,
  itTakesNothingNewAnd: "It takes nothing new, and leaves when what it has is done or handed back.",
  draining: "draining",
  drainTheWorker: (name: string) => `Drain the worker ${name}?`,
  itTakesNothingNewFrom:
    "It takes nothing new from now on, finishes or hands back what it has, and ends. It cannot be called back: it stays away until somebody starts it again, and one of “mainspring up” until that server is started again.",
  drainIt: "Drain it",
  drain: "Drain…",
  drain2: (name: string) => `Drain ${name}`,
  due: "Due",
  oldest: "Oldest",
  held3: "Held",
  slots: "Slots",
  works: "works",
  lookAtIt: "look at it",
  doesNotWork: "does not work",
  liveStreamOfThisTab: "Live stream of this tab",
  whatHappensIsShownAs: "What happens is shown as it happens.",
  itIsBeingOpenedAgain: "It is being opened again.",
  systemHealth: "System health",
  version: (version: string) => ` · version ${version}`,
  lookedAtEveryTenSeconds: (version: string) => `Looked at every ten seconds${version}`,
  copyTheReport: "Copy the report",
  doesAllOfItWork: "Does all of it work?",
  numbersForPrometheus: "Numbers for Prometheus",
  runsOfTheLastHour: "Runs of the last hour in this workspace",
  whatStandsBetweenAScript: "What stands between a script and the machine",
  lookingAfterIt: "Looking after it",
  aBackupIsTheDatabase:
    "A backup is the database, the master key and the files. Keep the key apart from the rest.",
  onTheMachineLooksCloser: (code: ReactNode) =>
    rich`On the machine, ${code} looks closer and says what to do.`,
  turnsRedByItselfLet: (code: ReactNode) =>
    rich`${code} turns red by itself: let whatever wakes you look there.`,
};
