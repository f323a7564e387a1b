// Lists that keep up with what happens: asked for again when the stream tells of a run, and not
// more often than a person could follow.

import { useEffect, useRef } from "react";
import { refresh } from "../api/client";
import { useLive } from "../api/live";

const PAUSE = 800;

/** Asks again for what begins so whenever a run that concerns it is new or has changed. */
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
