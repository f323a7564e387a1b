// One clock for the whole page, synchronized with the server, so that server timestamps and local
// countdowns agree and every time on a screen is consistent.

import { useSyncExternalStore } from "react";

const EVERY = 10_000;
// How far the displayed time may lag behind when a response arrives.
const AT_MOST = 500;
// The Date header has whole seconds, and a response takes time to arrive.
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

/** Synchronizes the clock with the Date header of a response. */
export function setClock(date: string | null, here = Date.now()): void {
  const there = date ? Date.parse(date) : NaN;
  if (Number.isNaN(there)) return;
  ahead = Math.abs(there - here) > UNNOTICED ? there - here : 0;
  // Events in a response happened before now, on every screen.
  if (Math.abs(now() - shown) > AT_MOST) tick();
}

/** The server time, in milliseconds. */
export const now = (): number => Date.now() + ahead;

/** The same time for everything on the screen; it ticks every few seconds. */
export const useClock = (): number => useSyncExternalStore(watch, () => shown);
