// Asks for a proposal, which may take a minute, and leads to it.

import { ask } from "./page.js";

const A_WHILE = 5000;

// The zone that this browser lives in; none if it does not say.
export function browserZone() {
  try {
    return Intl.DateTimeFormat().resolvedOptions().timeZone || null;
  } catch {
    return null;
  }
}

export async function proposed(asked, working) {
  const zone = browserZone();
  working.textContent = "Writing a proposal …";
  const later = setTimeout(() => (working.textContent = "Writing a proposal … It can take a minute."), A_WHILE);
  try {
    const made = await ask("POST", "/proposals", { ...asked, ...(zone ? { timezone: zone } : {}) });
    working.textContent = "Here it comes.";
    location.assign(`/proposals/${made.proposal_id}`);
    // The page is on its way out: nothing on it can be pressed again.
    await new Promise(() => {});
  } finally {
    clearTimeout(later);
    working.textContent = "";
  }
}
