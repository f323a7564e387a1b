import type { ReactNode } from "react";
import { count, plural } from "./plural";
import { rich } from "../rich";
import { translated } from "../translated";

export const edit = /* @__PURE__ */ translated("edit", {
  starters: {
    automation: "My automation",
    leaveAGreeting: "Leave a greeting in the inbox.",
    world: "world",
    hello: (name: string) => `Hello ${name}`,
    thisIsRun: (run: string) => `This is run ${run}.`,
    script: "My script",
    lookAtTheBoards: "Check the boards of this workspace and leave a note in the inbox.",
    theScriptIsDone: "The script is done",
    itEndedAt: (at: string) => `It ended at ${at}.`,
  },
  save: "Save",
  validate: "Validate",
  saveAsNewVersion: "Save as new version",
  saveAutomation: "Save automation",
  changesFromTheActiveVersion: "Changes from the active version:",
  changes: "Changes",
  keepEditing: "Keep editing",
  save2: "Save",
  errorToFixBeforeYou: (errors: number) =>
    `${count(errors, "error", "errors")} to fix before you can save.`,
  itCanBeSavedWith: (warnings: number) =>
    `It can be saved, with ${count(warnings, "warning", "warnings")}.`,
  readyToSave: "Ready to save.",
  validating: "Validating …",
  theServerDidNotRespond: "The server did not respond. Validation continues when you edit.",
  someoneElse: "someone else",
  savedAsVersion: (version: number) => `Saved as version ${version}`,
  noChanges: "No changes",
  thisVersionHasMorePermissions:
    "This version has more permissions than a person agreed to. It continues after someone agrees:",
  decideInTheInbox: "Decide in the inbox",
  openTheAutomation: "Open the automation",
  someoneSavedAnotherVersion: "Someone saved another version",
  versionWasSavedByWhile: (version: number, by: string) =>
    `Version ${version} was saved by ${by} while you were editing. `,
  anotherVersionWasSavedWhile: "Another version was saved while you were editing. ",
  yourChangesAreStillHere: (version: string) =>
    `${version}Your changes are still here. Compare, merge what matters and save on top.`,
  hideTheirChanges: (isShown: boolean) => `${isShown ? "Hide" : "Show"} their changes`,
  saveOnTopOfVersion: (version: number) => `Save on top of version ${version}`,
  theirChanges: "Their changes",
  seeTheFindingBelow: (findings: number) =>
    `See the ${count(findings, "finding", "findings")} below.`,
  review: "Review",
  reviewAgain: "Review again",
  review2: "Review",
  reviewing: "Reviewing …",
  aSummaryPointsToCheck:
    "A summary, points to check, the cost of a run and everything it can access.",
  changedSinceThisReview: "Changed since this review.",
  nothingToPointOut: "Nothing to point out.",
  cost: "Cost",
  whatItSends: "What it sends",
  toCheck: "To check",
  access: "Access",
  sends: "sends",
  reads: "reads",
  nothingBeyondItsOwnSteps: "Nothing beyond its own steps.",
  secrets: (secrets: string) => `Secrets: ${secrets}`,
  leaveWithoutSaving: "Leave without saving?",
  yourChangesAreKeptIn: "Your changes are kept in this tab.",
  leave: "Leave",
  edit: (name: string) => `Edit ${name}`,
  newScript: "New script",
  newAutomation: "New automation",
  new: "New",
  versionIsActiveSavingCreates: (version: number) =>
    `Version ${version} is active. Saving creates a new version; earlier ones stay.`,
  itIsSavedPausedNothing: "It is saved paused. Nothing starts before you activate it.",
  aBrowserCannotRepresentThis: (
    numbers: number,
    numbers2: string,
    numbers3: string,
    code: ReactNode,
  ) =>
    rich`A browser cannot represent ${
      plural(numbers, "this number", "these numbers")
    } exactly: ${numbers2}${numbers3}. Saving here would change more than you edited. Use ${code} or the API. A number written as text, in quotes, can be edited here.`,
  readOnlyHere: "Read-only here",
  yourUnsavedChangesAreRestored: "Your unsaved changes are restored.",
  discardThem: "Discard them",
  thatRun: "that run",
  thisIsVersionAsUsed: (version: number, link: ReactNode) =>
    rich`This is version ${version}, as used by ${link}. You can pick its real values in every template field.`,
});
