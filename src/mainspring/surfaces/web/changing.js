// On the page of an automation: what should be different, in words.

import { byId, isAtLeast, onSubmit } from "./page.js";
import { proposed } from "./proposing.js";

export function offerChange(automation, who) {
  byId("change-part").hidden = !isAtLeast(who, "editor") || automation.state === "archived";
  onSubmit(byId("change-form"), async (given) => {
    await proposed({ text: given.text.trim(), automation_id: automation.id }, byId("working"));
  });
}
