// What somebody wrote and did not send: kept in this tab, for this person in this workspace only.

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
    // A tab that keeps nothing has nothing to forget.
  }
}

/** Who is here, and where; what anybody else wrote in this tab is gone. */
export function keepFor({ user, workspace }: Pick<Who, "user" | "workspace">): void {
  const person = `${KEPT}${user.id}.`;
  const next = `${person}${workspace.id}.`;
  if (mine === next) return;
  mine = next;
  drop((name) => !name.startsWith(person));
}

/** The place of one text. It stays with who is here now, even when the page turns to another. */
export function keeping(key: string) {
  const name = mine === null ? null : mine + key;
  return {
    keep(text: string): void {
      try {
        if (name && mine !== null) sessionStorage.setItem(name, text);
      } catch {
        // A tab that keeps nothing still has what stands on the page.
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

/** Somebody leaves: nothing of theirs stays in this tab, and nothing is kept any more. */
export function forgetAll(): void {
  mine = null;
  drop(() => true);
}
