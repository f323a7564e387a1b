// Small working definitions to start from.

import type { Json } from "../../form/values";
import { t } from "../../strings";

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
    name: t.edit.starters.automation,
    goal: t.edit.starters.leaveAGreeting,
    inputs: {
      schema: {
        type: "object",
        properties: { name: { type: "string", maxLength: 200, default: t.edit.starters.world } },
      },
    },
    plan: [
      answer(t.edit.starters.hello("{{ inputs.name }}"), t.edit.starters.thisIsRun("{{ run.id }}")),
    ],
  },
  script: {
    schema_version: "1.2",
    name: t.edit.starters.script,
    goal: t.edit.starters.lookAtTheBoards,
    plan: [
      { step_id: "work", action: "script", config: { source: SCRIPT } },
      answer(t.edit.starters.theScriptIsDone, t.edit.starters.itEndedAt("{{ steps.work.at }}")),
    ],
  },
};
