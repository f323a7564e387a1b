import type { ReactNode } from "react";
import { rich } from "../rich";
import { translated } from "../translated";

export const secrets = /* @__PURE__ */ translated("secrets", {
  remove: (name: string) => `Remove ${name}?`,
  youCannotUndoThisRuns: "You cannot undo this. Runs that need it fail with an error.",
  remove2: "Remove",
  isRemoved: (name: string) => `${name} is removed.`,
  lastWritten: (description: string, time: ReactNode) => rich`${description}last written ${time}`,
  replace: "Replace",
  replace2: (name: string) => `Replace ${name}`,
  remove3: "Remove",
  remove4: (name: string) => `Remove ${name}`,
  isUpdated: (name: string) => `${name} is updated.`,
  isSaved: (name: string) => `${name} is saved.`,
  addASecret: "Add a secret",
  name: "Name",
  uppercaseLettersDigitsAnd: "Uppercase letters, digits and underscores",
  lowercaseLettersDigitsAnd: "Lowercase letters, digits and underscores",
  itExistsAlreadySavingReplaces: "It exists already: saving replaces its value.",
  value: "Value",
  itIsNeverShownAgain: "It is never shown again.",
  description: "Description",
  cancel: "Cancel",
  save: "Save",
  secrets: "Secrets",
  encryptedWhenYouSaveThem:
    "Encrypted when you save them, used only when a run needs them, and never shown again, not even to you.",
  listSecrets: "List secrets",
  aDefinitionRefersToA: (code: ReactNode) =>
    rich`A definition refers to a secret by name, such as ${code}, and never contains its value. Add the value here. Runs send it only to hosts that you agreed to.`,
  noSecretsYet: "No secrets yet",
  noneInThisWorkspace: "None in this workspace.",
  publisherSecrets: "Publisher secrets",
  aRecipeThatReadsAn: (code: ReactNode) =>
    rich`A recipe that reads an API with the publisher's own key refers to it as ${code}. Set it here, where the recipe runs.`,
  addAKey: "Add a key",
});
