// Small working definitions to start from.

import type { Json } from "../../form/values";

const answer = (title: string, message: string): Json => ({
  step_id: "tell",
  action: "notification",
  config: { title, message_template: message },
});

const SCRIPT = `import { brains } from "https://brains/sdks/automation-sdk-v1.ts";

// Capabilities are methods of brains; what is returned is the step's output.
const boards = await brains.list_boards({});
console.log(boards);
return { at: new Date().toISOString() };
`;

export const STARTERS: Record<"json" | "script", Json> = {
  json: {
    schema_version: "1.2",
    name: "My automation",
    goal: "Leave a greeting in the inbox.",
    inputs: {
      schema: {
        type: "object",
        properties: { name: { type: "string", maxLength: 200, default: "world" } },
      },
    },
    plan: [answer("Hello {{ inputs.name }}", "This is run {{ run.id }}.")],
  },
  script: {
    schema_version: "1.2",
    name: "My script",
    goal: "Look at the boards of this workspace and leave a note in the inbox.",
    plan: [
      { step_id: "work", action: "script", config: { source: SCRIPT } },
      answer("The script is done", "It ended at {{ steps.work.at }}."),
    ],
  },
};
