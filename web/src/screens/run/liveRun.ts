// The state of a run: the loaded record merged with the streamed events.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api, refresh, type Schemas } from "../../api/client";
import { type StreamEvent, useLive } from "../../api/live";
import { now } from "../../kit/clock";
import { keyOf } from "./keys";
import type { Attempt } from "./timeline";
import { type Piece, type StepOutput, withPieces } from "./stepOutput";

export type Detail = Schemas["RunDetail"];
export type Followed = Omit<Detail, "steps"> & { steps: Attempt[] };
export type RunUpdates = {
  steps: Readonly<Record<string, Attempt>>;
  run: Partial<Detail> | null;
  /** When the last event of the run itself arrived, in milliseconds. */
  at: number;
  output: StepOutput;
};

export const NO_NEWS: RunUpdates = { steps: {}, run: null, at: 0, output: {} };
const FLUSH = 40;
const READ_AGAIN = 400;

const placeOf = (step: Attempt) => `${keyOf(step)}@${step.run_attempt}.${step.attempt}`;

/** The state after some more events. */
export function applyEvents(
  news: RunUpdates,
  events: readonly StreamEvent[],
  now: number,
): RunUpdates {
  const next: RunUpdates = { ...news };
  const pieces: Piece[] = [];
  const steps: Record<string, Attempt> = {};
  for (const { kind, data } of events) {
    if (kind === "output") pieces.push(data as Piece);
    else if (kind === "step") steps[placeOf(data as Attempt)] = data as Attempt;
    else if (kind === "watched" || kind === "end") {
      next.run = data as Partial<Detail>;
      next.at = now;
    }
  }
  if (Object.keys(steps).length) next.steps = { ...news.steps, ...steps };
  next.output = withPieces(news.output, pieces);
  return next;
}

/** The loaded run with the streamed changes. */
export function mergeUpdates(read: Detail, readAt: number, news: RunUpdates): Followed {
  const known = new Map(read.steps.map((step): [string, Attempt] => [placeOf(step), step]));
  for (const [place, step] of Object.entries(news.steps)) {
    const before = known.get(place);
    if (!before || before.finished_at < step.finished_at) {
      known.set(place, { ...before, ...step });
    }
  }
  const run = news.run && news.at > readAt ? news.run : null;
  return { ...read, ...run, steps: [...known.values()] };
}

/** Subscribes to one run while mounted. */
export function useLiveRun(runId: string) {
  const asked = api.useQuery("get", "/api/v1/runs/{run_id}", {
    params: { path: { run_id: runId } },
  });
  const [news, setNews] = useState(NO_NEWS);
  const pendingEvents = useRef<StreamEvent[]>([]);
  const flush = useRef<ReturnType<typeof setTimeout>>(undefined);
  const readAgain = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => {
    clearTimeout(flush.current);
    clearTimeout(readAgain.current);
    flush.current = readAgain.current = undefined;
    pendingEvents.current = [];
    setNews(NO_NEWS);
  }, [runId]);
  const handleEvent = useCallback((one: StreamEvent) => {
    const isOfThisRun = ["step", "output", "watched", "end"].includes(one.kind);
    // If too many tabs follow runs, only the status changes of this one are streamed.
    if (!isOfThisRun && (one.kind !== "run" || one.data.id !== runId)) return;
    if (isOfThisRun) pendingEvents.current.push(one);
    flush.current ??= setTimeout(() => {
      const all = pendingEvents.current;
      pendingEvents.current = [];
      flush.current = undefined;
      setNews((before) => applyEvents(before, all, Date.now()));
    }, FLUSH);
    // The result of a step is fetched, not streamed.
    if (one.kind === "output") return;
    readAgain.current ??= setTimeout(() => {
      readAgain.current = undefined;
      void refresh("/api/v1/runs/{run_id}");
    }, READ_AGAIN);
  }, [runId]);
  useLive(handleEvent, asked.data?.id);
  const run = useMemo(
    () => asked.data ? mergeUpdates(asked.data, asked.dataUpdatedAt, news) : undefined,
    [asked.data, asked.dataUpdatedAt, news],
  );
  return { asked, run, said: news.output };
}

/** The current time, updated while something is running. */
export function useNow(ticking: boolean): number {
  const [shown, setShown] = useState(now);
  useEffect(() => {
    setShown(now());
    if (!ticking) return;
    const timer = setInterval(() => setShown(now()), 200);
    return () => clearInterval(timer);
  }, [ticking]);
  return shown;
}
