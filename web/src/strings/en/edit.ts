import type { ReactNode } from "react";
import { count, plural } from "./plural";
import { rich } from "../rich";

export const edit = {
  saveIt: "Save it",
  judgeIt: "Judge it",
  saveAsNewVersion: "Save as new version",
  saveAutomation: "Save automation",
  whatIsDifferentFromThe: "What is different from the version in force:",
  whatChanged: "What changed",
  keepWriting: "Keep writing",
  save: "Save",
  placeToMendBeforeIt: (errors: number) =>
    `${count(errors, "place", "places")} to mend before it can be saved.`,
  itCanBeSavedWith: (warnings: number) =>
    `It can be saved, with ${count(warnings, "warning", "warnings")}.`,
  itCanBeSavedAs: "It can be saved as it stands.",
  beingJudged: "Being judged …",
  theServerDidNotAnswer: "The server did not answer; it is judged again when you write on.",
  somebodyElse: "somebody else",
  savedAsVersion: (version: number) => `Saved as version ${version}`,
  nothingChanged: "Nothing changed",
  thisVersionMayDoMore:
    "This version may do more than a person has agreed to. It goes on once somebody says yes:",
  decideInTheInbox: "Decide in the inbox",
  openTheAutomation: "Open the automation",
  somebodyWasQuicker: "Somebody was quicker",
  versionWasSavedByWhile: (version: number, by: string) =>
    `Version ${version} was saved by ${by} while you were writing. `,
  anotherVersionWasSavedWhile: "Another version was saved while you were writing. ",
  whatYouWroteIsStill: (version: string) =>
    `${version}What you wrote is still here. See what they changed, bring it in where it matters, and save on top of it.`,
  hideWhatTheyChanged: (isShown: boolean) => `${isShown ? "Hide" : "Show"} what they changed`,
  saveMineOnTopOf: (version: number) => `Save mine on top of version ${version}`,
  whatTheyChanged: "What they changed",
  placeBelowSaysWhy: (findings: number) =>
    `${count(findings, "place", "places")} below ${plural(findings, "says", "say")} why.`,
  review: "Review",
  reviewAgain: "Review again",
  reviewIt: "Review it",
  readingIt: "Reading it …",
  whatItDoesInPlain:
    "What it does in plain words, what to watch out for, what a run costs, and everything it may touch.",
  youHaveChangedItSince: "You have changed it since this review.",
  nothingStandsOut: "Nothing stands out.",
  price: "Price",
  whatItSends: "What it sends",
  toLookAt: "To look at",
  whatItMayTouch: "What it may touch",
  sends: "sends",
  reads: "reads",
  waitsForAYes: " · waits for a yes",
  nothingBeyondItsOwnSteps: "Nothing beyond its own steps.",
  secrets: (secrets: string) => `Secrets: ${secrets}`,
  leaveWithoutSaving: "Leave without saving?",
  whatYouWroteIsKept: "What you wrote is kept in this tab and waits for you here.",
  leave: "Leave",
  edit: (name: string) => `Edit ${name}`,
  newScript: "New script",
  newAutomation: "New automation",
  new: "New",
  versionIsInForceSaving: (version: number) =>
    `Version ${version} is in force. Saving makes a new version; the old ones stay.`,
  itIsSavedPausedNothing: "It is saved paused: nothing starts before you say so.",
  aBrowserCannotKeepThis: (numbers: number, numbers2: string, numbers3: string, code: ReactNode) =>
    rich`A browser cannot keep ${
      plural(numbers, "this number", "these numbers")
    } of it exactly: ${numbers2}${numbers3}. Saving from here would change more than you wrote, so change it by ${code} or by the API. A number that is written as text, in quotes, can be edited here.`,
  itCanOnlyBeLooked: "It can only be looked at here",
  whatYouWroteHereBefore: "What you wrote here before and did not save is back.",
  throwItAway: "Throw it away",
  thatRun: "that run",
  thisIsVersionAsUsed: (version: number, link: ReactNode) =>
    rich`This is version ${version}, as ${link} used it. Its real values can be picked wherever a template stands.`,
};
