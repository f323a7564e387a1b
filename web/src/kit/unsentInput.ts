// Unsent input, kept in sessionStorage, for this user in this workspace only.

import type { Who } from "../api/session";

const START = "mainspring.";
const KEPT = `${START}kept.`;

let mine: string | null = null;

function drop(isOut: (name: string) => boolean): void {
  try {
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(START) && isOut(name)) sessionStorage.removeItem(name);
    }
  } catch {
    // Without storage there is nothing to clear.
  }
}

/** Sets the user and workspace; input of anybody else in this tab is removed. */
export function keepFor({ user, workspace }: Pick<Who, "user" | "workspace">): void {
  const person = `${KEPT}${user.id}.`;
  const next = `${person}${workspace.id}.`;
  if (mine === next) return;
  mine = next;
  drop((name) => !name.startsWith(person));
}

/**
 * The storage of one text. It belongs to the current user, even if the page later changes to
 * another.
 */
export function keeping(key: string) {
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
    forget: () => drop((one) => one === name),
  };
}

/** On sign-out: removes everything from this tab and stops storing. */
export function forgetAll(): void {
  mine = null;
  drop(() => true);
}
