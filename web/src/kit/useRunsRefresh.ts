// Lists that follow live updates: refetched when the stream reports a run, throttled.

import { useEffect, useRef } from "react";
import { refresh } from "../api/client";
import { useLive } from "../api/live";

const PAUSE = 800;

/** Refetches queries with this prefix whenever a matching run is new or has changed. */
export function useRunsRefresh(beginnings: string[], automationId?: string): void {
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => () => {
    if (timer.current) clearTimeout(timer.current);
  }, []);
  useLive(({ kind, data }) => {
    if (kind !== "run" || timer.current) return;
    if (automationId && data.automation_id !== automationId) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      void refresh(...beginnings);
    }, PAUSE);
  });
}
