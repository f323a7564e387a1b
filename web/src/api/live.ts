// One stream per tab: what happens in the workspace, told as it happens.
//
// The shell keeps it open. A screen that wants to hear of one run names it, and the stream is
// opened again for that run too. The browser comes back by itself after a short break, with the
// id of the last event that it heard; after a refusal, or when the tab has slept, it is opened
// anew, each time a little later until it works.

import { useEffect, useRef, useSyncExternalStore } from "react";
import { refresh } from "./client";

export type Heard = { kind: string; data: Record<string, unknown> };
type Listener = (heard: Heard) => void;

const KINDS = ["run", "inbox", "step", "output", "end", "problem", "watched"] as const;
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;
// A tab that was not run for so long has slept, and its connection is likely gone without a word.
const TICK = 15_000;
const SLEPT = 60_000;

const listeners = new Set<Listener>();
const watchers = new Set<() => void>();
let wanted = false;
// The workspace that this page shows.
let shown = "";
let source: EventSource | null = null;
let watched: string | null = null;
let told: Heard | null = null;
let connected = false;
let failures = 0;
// Something may have happened that nobody was told of.
let missed = false;
let again: ReturnType<typeof setTimeout> | undefined;

function tellConnected(value: boolean) {
  if (connected === value) return;
  connected = value;
  for (const watcher of watchers) watcher();
}

function close() {
  clearTimeout(again);
  source?.close();
  source = null;
}

/** How long to wait before the stream is opened once more, in milliseconds. */
export function pause(failed: number): number {
  return Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(failed, 5));
}

/** What the stream is asked for: it is refused when the session looks at another workspace. */
const asked = (workspace: string, run: string | null): Record<string, string> =>
  run ? { workspace, run_id: run } : { workspace };

function open() {
  close();
  if (!wanted) return;
  const mine = new EventSource(`/api/v1/stream?${new URLSearchParams(asked(shown, watched))}`);
  source = mine;
  mine.onopen = () => {
    failures = 0;
    tellConnected(true);
    if (missed) void refresh("/api/v1/");
    missed = false;
  };
  mine.onerror = () => {
    if (mine !== source) return;
    tellConnected(false);
    // The browser tries again by itself unless it was refused: then somebody has to.
    if (mine.readyState === EventSource.CLOSED) openRefused();
  };
  for (const kind of KINDS) {
    mine.addEventListener(kind, (event) => {
      if (mine === source) hear(kind, event as MessageEvent<string>);
    });
  }
}

function openLater() {
  missed = true;
  clearTimeout(again);
  again = setTimeout(open, pause(failures));
  failures += 1;
}

function openAnew() {
  missed = true;
  open();
}

function hear(kind: string, event: MessageEvent<string>) {
  const heard = { kind, data: JSON.parse(event.data) as Record<string, unknown> };
  if (kind === "inbox") told = heard;
  for (const listener of [...listeners]) listener(heard);
  // The last word of a stream that the server has ended.
  if (kind === "problem") {
    close();
    tellConnected(false);
    openRefused();
  }
}

/** A stream is refused when nobody is signed in any longer, or not to this workspace: then who is? */
function openRefused() {
  openLater();
  void refresh("/api/v1/session");
}

/** Opens the stream of a workspace for as long as somebody is signed in. */
export function useLiveStream(workspace: string): void {
  useEffect(() => {
    wanted = true;
    shown = workspace;
    told = null;
    open();
    let looked = Date.now();
    const wake = () => {
      const slept = Date.now() - looked > SLEPT;
      looked = Date.now();
      if (slept || (!connected && !document.hidden)) openAnew();
    };
    const timer = setInterval(() => {
      if (Date.now() - looked > SLEPT) openAnew();
      looked = Date.now();
    }, TICK);
    document.addEventListener("visibilitychange", wake);
    addEventListener("online", wake);
    return () => {
      wanted = false;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", wake);
      removeEventListener("online", wake);
      close();
      tellConnected(false);
    };
  }, [workspace]);
}

/** Hears everything that the stream tells; with a run, also its steps and what they say. */
export function useLive(listener: Listener, runId?: string): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    const hearing: Listener = (heard) => latest.current(heard);
    listeners.add(hearing);
    // Whoever comes later is told the numbers too: the stream tells them only when they change.
    if (told) hearing(told);
    if (runId && watched !== runId) {
      watched = runId;
      open();
    }
    return () => {
      listeners.delete(hearing);
      if (runId && watched === runId) {
        watched = null;
        // Unless another run is named at once, nobody wants to hear of this one any longer.
        queueMicrotask(() => watched ?? open());
      }
    };
  }, [runId]);
}

/** Whether the stream is open now. */
export function useConnected(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => connected,
  );
}
