import type { ReactNode } from "react";
import { rich } from "../rich";

export const secrets = {
  remove: (name: string) => `Remove ${name}?`,
  itCannotBeBroughtBack: "It cannot be brought back. Runs that need it fail and say so.",
  removeIt: "Remove it",
  isGone: (name: string) => `${name} is gone.`,
  written: (description: string, time: ReactNode) => rich`${description}written ${time}`,
  replace: "Replace",
  replace2: (name: string) => `Replace ${name}`,
  remove2: "Remove",
  remove3: (name: string) => `Remove ${name}`,
  hasItsNewValue: (name: string) => `${name} has its new value.`,
  isSealed: (name: string) => `${name} is sealed.`,
  addASecret: "Add a secret",
  name: "Name",
  capitalsDigitsAndUnderscores: "Capitals, digits and underscores",
  smallLettersDigitsAndUnderscores: "Small letters, digits and underscores",
  itIsThereAlreadySaving: "It is there already: saving replaces its value.",
  value: "Value",
  itIsNeverShownAgain: "It is never shown again.",
  whatItIsFor: "What it is for",
  cancel: "Cancel",
  sealIt: "Seal it",
  secrets: "Secrets",
  sealedWhenYouWriteThem:
    "Sealed when you write them, put in at the door when a run needs them, and shown to nobody again, not even to you.",
  listSecrets: "List secrets",
  aDefinitionNamesASecret: (code: ReactNode) =>
    rich`A definition names a secret, such as ${code}, and never holds its value. Add the value here; runs get it only at hosts that you agreed to.`,
  noSecretsYet: "No secrets yet",
  noneAreSetInThis: "None are set in this workspace.",
  keysOfDeclarativeRecipes: "Keys of declarative recipes",
  aRecipeThatReadsAn: (code: ReactNode) =>
    rich`A recipe that reads an API with the publisher's own key names it as ${code}. It is set where the recipe runs: here.`,
  addAKey: "Add a key",
};
