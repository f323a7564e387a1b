import { count } from "./plural";

export const audit = {
  whatWasDone: "What was done",
  anything: "Anything",
  byWhom: "By whom",
  anybody: "Anybody",
  aRunOrSomebodyWho: "A run, or somebody who is gone",
  from: "From",
  to: "To",
  clear: "Clear",
  auditLog: "Audit log",
  yourRoleHereIsNot:
    "Your role here is not enough to read who did what. Whoever owns the workspace can change that under members.",
  adminsReadTheAuditLog: "Admins read the audit log",
  whoDidWhatInThis:
    "Who did what in this workspace, and who was refused. Entries are added and never changed.",
  exportWhatIsShown: "Export what is shown",
  readTheLog: "Read the log",
  entryShown: (shown: number) => `${count(shown, "entry", "entries")} shown`,
  loadMore: "Load more",
  everythingThatChangesSomethingHere:
    "Everything that changes something here leaves an entry. Choose other filters, or none.",
  nothingFits: "Nothing fits",
  detailsOf: (action: string) => `Details of ${action}`,
  byATokenThatMay: "by a token that may approve",
  theEntry: "The entry",
  theCall: "The call",
};
