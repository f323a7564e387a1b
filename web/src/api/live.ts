// One stream per tab: what happens in the workspace, told as it happens.
//
// The shell keeps it open. A screen that wants to hear of one run names it, and the stream is
// opened again for that run too; the browser itself comes back after a break, with the id of the
// last event that it heard.

import { useEffect, useRef, useSyncExternalStore } from "react";

export type Heard = { kind: string; data: Record<string, unknown> };
type Listener = (heard: Heard) => void;

const KINDS = ["run", "inbox", "step", "output", "end", "problem", "watched"] as const;
const listeners = new Set<Listener>();
const watchers = new Set<() => void>();
let source: EventSource | null = null;
let watched: string | null = null;
let connected = false;

function tellConnected(value: boolean) {
  connected = value;
  for (const watcher of watchers) watcher();
}

function open() {
  source?.close();
  const address = watched ? `/api/v1/stream?run_id=${watched}` : "/api/v1/stream";
  source = new EventSource(address);
  source.onopen = () => tellConnected(true);
  source.onerror = () => tellConnected(false);
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => {
      const data = JSON.parse((event as MessageEvent<string>).data) as Record<string, unknown>;
      for (const listener of [...listeners]) listener({ kind, data });
    });
  }
}

/** Opens the stream for as long as somebody is signed in. */
export function useLiveStream(key: string): void {
  useEffect(() => {
    open();
    return () => {
      source?.close();
      source = null;
      tellConnected(false);
    };
  }, [key]);
}

/** Hears everything that the stream tells; with a run, also its steps and what they say. */
export function useLive(listener: Listener, runId?: string): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    const hear: Listener = (heard) => latest.current(heard);
    listeners.add(hear);
    if (runId) {
      watched = runId;
      open();
    }
    return () => {
      listeners.delete(hear);
      if (runId && watched === runId) watched = null;
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
