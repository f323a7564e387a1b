// What somebody wrote and did not send: kept in this tab, for this person in this workspace only.

import type { Who } from "../api/session";

const START = "mainspring.";
const KEPT = `${START}kept.`;

let mine: string | null = null;

const nameOf = (key: string) => (mine === null ? null : mine + key);

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

export function keep(key: string, text: string): void {
  const name = nameOf(key);
  try {
    if (name) sessionStorage.setItem(name, text);
  } catch {
    // A tab that keeps nothing still has what stands on the page.
  }
}

export function kept(key: string): string | null {
  const name = nameOf(key);
  try {
    return name ? sessionStorage.getItem(name) : null;
  } catch {
    return null;
  }
}

export function forget(key: string): void {
  const name = nameOf(key);
  if (name) drop((one) => one === name);
}

/** Somebody leaves: nothing of theirs stays in this tab, and nothing is kept any more. */
export function forgetAll(): void {
  mine = null;
  drop(() => true);
}
