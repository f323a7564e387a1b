// Unsent input, kept in sessionStorage, for this user in this workspace only.

import type { Session } from "../api/session";

const START = "mainspring.";
const KEPT = `${START}kept.`;

let mine: string | null = null;

function clear(isOut: (name: string) => boolean): void {
  try {
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(START) && isOut(name)) sessionStorage.removeItem(name);
    }
  } catch {
    // Without storage there is nothing to clear.
  }
}

/** Sets the user and workspace; input of anybody else in this tab is removed. */
export function setOwner({ user, workspace }: Pick<Session, "user" | "workspace">): void {
  const person = `${KEPT}${user.id}.`;
  const next = `${person}${workspace.id}.`;
  if (mine === next) return;
  mine = next;
  clear((name) => !name.startsWith(person));
}

/**
 * The storage of one text. It belongs to the current user, even if the page later changes to
 * another.
 */
export function openStorage(key: string) {
  const name = mine === null ? null : mine + key;
  return {
    keep(text: string): void {
      try {
        if (name && mine !== null) sessionStorage.setItem(name, text);
      } catch {
        // Without storage the text is still on the page.
      }
    },
    kept(): string | null {
      try {
        return name ? sessionStorage.getItem(name) : null;
      } catch {
        return null;
      }
    },
    forget: () => clear((one) => one === name),
  };
}

/** On sign-out: removes everything from this tab and stops storing. */
export function clearAll(): void {
  mine = null;
  clear(() => true);
}
