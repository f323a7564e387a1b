// Live updates of the workspace.
//
// The tabs of a browser share one event stream, which a shared worker holds open; see stream.ts.
// The shell subscribes to the workspace, and a screen that shows one run names it. A browser
// without shared workers (most phones) opens one stream in the visible tab and closes it when the
// tab is hidden.

import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { refresh } from "./client";
import { type StreamEvent, StreamHub, type StreamMessage, type Subscription } from "./stream";

export type { StreamEvent } from "./stream";
type Listener = (event: StreamEvent) => void;
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
let answer: StreamEvent | null = null;
let state: State = "opening";
let link: ((subscription: Subscription) => void) | null = null;
let shared = typeof SharedWorker !== "undefined";

function setState(value: State) {
  if (state === value) return;
  state = value;
  for (const watcher of watchers) watcher();
}

function handleMessage(message: StreamMessage) {
  if (message.type === "event") {
    const { event } = message;
    if (event.kind === "inbox") answer = event;
    for (const [listener, run] of [...listeners]) {
      if (!OF_ONE_RUN.has(event.kind) || run === event.data.run_id) listener(event);
    }
  } else if (message.type === "open") {
    setState("open");
    if (message.missed) void refresh("/api/v1/");
  } else {
    setState(message.refused ? "refused" : "lost");
    // The stream is rejected after a sign-out or a change of workspace: reload the session.
    if (message.refused) void refresh("/api/v1/session");
  }
}

function connectToWorker(): (subscription: Subscription) => void {
  const worker = new SharedWorker(new URL("./stream.worker.ts", import.meta.url), {
    type: "module",
    name: "mainspring-stream",
  });
  worker.port.onmessage = ({ data }: MessageEvent<StreamMessage>) => handleMessage(data);
  worker.onerror = () => {
    // The worker could not be loaded: this tab opens its own stream.
    shared = false;
    link = null;
    subscribe();
  };
  return (subscription) => worker.port.postMessage(subscription);
}

function connectDirectly(): (subscription: Subscription) => void {
  const hub = new StreamHub();
  const reader = { postMessage: handleMessage };
  return (subscription) => hub.subscribe(reader, subscription);
}

function subscribe() {
  if (shown === null || (!shared && document.hidden)) return unsubscribe();
  link ??= shared ? connectToWorker() : connectDirectly();
  link({ type: "follow", workspace: shown, run: watched });
}

function unsubscribe() {
  link?.({ type: "leave" });
}

/** Subscribes to a workspace while the user is signed in. */
export function useLiveStream(workspace: string): void {
  useEffect(() => {
    shown = workspace;
    answer = null;
    subscribe();
    // A tab that becomes visible again reopens the stream without waiting for its backoff.
    document.addEventListener("visibilitychange", subscribe);
    addEventListener("online", subscribe);
    addEventListener("pageshow", subscribe);
    addEventListener("pagehide", unsubscribe);
    return () => {
      shown = null;
      document.removeEventListener("visibilitychange", subscribe);
      removeEventListener("online", subscribe);
      removeEventListener("pageshow", subscribe);
      removeEventListener("pagehide", unsubscribe);
      unsubscribe();
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
    const forward: Listener = (event) => latest.current(event);
    listeners.set(forward, runId);
    // Late subscribers get the cached counts: the stream sends them only on a change.
    if (answer) forward(answer);
    if (runId && watched !== runId) {
      watched = runId;
      subscribe();
    }
    return () => {
      listeners.delete(forward);
      if (runId && watched === runId) {
        watched = null;
        // Unsubscribes from the run unless another one is named in the same tick.
        queueMicrotask(() => watched ?? subscribe());
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
