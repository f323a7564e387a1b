// One clock for the whole page: the server's, so that what it wrote down and what is counted here go
// together, and the same for every time on a screen.

import { useSyncExternalStore } from "react";

const EVERY = 10_000;
// As far as the moment on the screen may be behind when an answer arrives.
const AT_MOST = 500;
// An answer says its time in whole seconds, and takes a while to arrive.
const UNNOTICED = 3_000;

let ahead = 0;
let shown = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const watchers = new Set<() => void>();

function tick() {
  shown = now();
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void) {
  timer ??= setInterval(tick, EVERY);
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** Sets the clock by the time that the server gives with an answer. */
export function setClock(date: string | null, here = Date.now()): void {
  const there = date ? Date.parse(date) : NaN;
  if (Number.isNaN(there)) return;
  ahead = Math.abs(there - here) > UNNOTICED ? there - here : 0;
  // What an answer tells of has happened before now, on every screen.
  if (Math.abs(now() - shown) > AT_MOST) tick();
}

/** The time by the server's clock, in milliseconds. */
export const now = (): number => Date.now() + ahead;

/** The same moment for everything that is on the screen; it goes on every few seconds. */
export const useClock = (): number => useSyncExternalStore(watch, () => shown);
