// Live updates of the workspace.
//
// The tabs of a browser share one event stream, which a shared worker holds open; see stream.ts.
// The shell subscribes to the workspace, and a screen that shows one run names it. A browser
// without shared workers (most phones) opens one stream in the visible tab and closes it when the
// tab is hidden.

import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { refresh } from "./client";
import { type Asking, type Heard, StreamHub, type Telling } from "./stream";

export type { Heard } from "./stream";
type Listener = (heard: Heard) => void;
type State = "opening" | "open" | "refused" | "lost";

// Sent only for runs that the request names, and only to the screen that shows the run.
const OF_ONE_RUN = new Set(["step", "output", "watched", "end"]);
// A shorter interruption is not shown.
const LOST_FOR = 1_000;

const listeners = new Map<Listener, string | undefined>();
const watchers = new Set<() => void>();
/** The workspace that this page shows; null while signed out. */
let shown: string | null = null;
let watched: string | null = null;
let answer: Heard | null = null;
let state: State = "opening";
let link: ((asking: Asking) => void) | null = null;
let shared = typeof SharedWorker !== "undefined";

function setState(value: State) {
  if (state === value) return;
  state = value;
  for (const watcher of watchers) watcher();
}

function hear(telling: Telling) {
  if (telling.type === "heard") {
    const { heard } = telling;
    if (heard.kind === "inbox") answer = heard;
    for (const [listener, run] of [...listeners]) {
      if (!OF_ONE_RUN.has(heard.kind) || run === heard.data.run_id) listener(heard);
    }
  } else if (telling.type === "open") {
    setState("open");
    if (telling.missed) void refresh("/api/v1/");
  } else {
    setState(telling.refused ? "refused" : "lost");
    // The stream is rejected after a sign-out or a change of workspace: reload the session.
    if (telling.refused) void refresh("/api/v1/session");
  }
}

function linkToWorker(): (asking: Asking) => void {
  const worker = new SharedWorker(new URL("./stream.worker.ts", import.meta.url), {
    type: "module",
    name: "mainspring-stream",
  });
  worker.port.onmessage = ({ data }: MessageEvent<Telling>) => hear(data);
  worker.onerror = () => {
    // The worker could not be loaded: this tab opens its own stream.
    shared = false;
    link = null;
    follow();
  };
  return (asking) => worker.port.postMessage(asking);
}

function linkOfThisTab(): (asking: Asking) => void {
  const hub = new StreamHub();
  const reader = { postMessage: hear };
  return (asking) => hub.ask(reader, asking);
}

function follow() {
  if (shown === null || (!shared && document.hidden)) return leave();
  link ??= shared ? linkToWorker() : linkOfThisTab();
  link({ type: "follow", workspace: shown, run: watched });
}

function leave() {
  link?.({ type: "leave" });
}

/** Subscribes to a workspace while the user is signed in. */
export function useLiveStream(workspace: string): void {
  useEffect(() => {
    shown = workspace;
    answer = null;
    follow();
    // A tab that becomes visible again reopens the stream without waiting for its backoff.
    document.addEventListener("visibilitychange", follow);
    addEventListener("online", follow);
    addEventListener("pageshow", follow);
    addEventListener("pagehide", leave);
    return () => {
      shown = null;
      document.removeEventListener("visibilitychange", follow);
      removeEventListener("online", follow);
      removeEventListener("pageshow", follow);
      removeEventListener("pagehide", leave);
      leave();
      setState("opening");
    };
  }, [workspace]);
}

/** Receives every event of the stream; with a run id, also its steps and their output. */
export function useLive(listener: Listener, runId?: string): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    const hearing: Listener = (heard) => latest.current(heard);
    listeners.set(hearing, runId);
    // Late subscribers get the cached counts: the stream sends them only on a change.
    if (answer) hearing(answer);
    if (runId && watched !== runId) {
      watched = runId;
      follow();
    }
    return () => {
      listeners.delete(hearing);
      if (runId && watched === runId) {
        watched = null;
        // Unsubscribes from the run unless another one is named in the same tick.
        queueMicrotask(() => watched ?? follow());
      }
    };
  }, [runId]);
}

function useStreamState(): State {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => state,
  );
}

/** Whether the stream is open now. */
export function useConnected(): boolean {
  const now = useStreamState();
  return now === "open";
}

/** Whether the server has been unreachable for a while. */
export function useLost(): boolean {
  const now = useStreamState();
  const lost = now === "lost";
  const [long, setLong] = useState(false);
  useEffect(() => {
    if (!lost) return setLong(false);
    const timer = setTimeout(() => setLong(true), LOST_FOR);
    return () => clearTimeout(timer);
  }, [lost]);
  return lost && long;
}
