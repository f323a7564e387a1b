// Starts a rehearsal and polls it until it is complete.

import { useCallback, useRef, useState } from "react";
import { type Answer, client } from "../api/client";
import { parseJson } from "../form/text";
import type { Definition } from "./reviewText";
import { t } from "../strings";

export type Rehearsal = Answer<"get_rehearsal">;
export type Firing = Rehearsal["firings"][number];
/** The definition to rehearse; default: the version in force. */
export type Candidate = {
  definition?: Definition;
  version?: number;
  proposal_id?: string;
  consent_id?: string;
};
export type Sample = { inputs?: unknown; payload?: unknown };
type RehearsalState = {
  candidate?: Candidate;
  last?: number;
  samples?: Sample[];
  live_reads?: boolean;
};

const LOOK_AGAIN_MS = 700;
// The server's long-poll timeout in seconds.
const LEAST_WAIT = 10;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function useRehearsal(automationId: string) {
  const [found, setFound] = useState<Rehearsal | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const turn = useRef(0);
  const rehearse = useCallback(async (request: RehearsalState) => {
    const mine = ++turn.current;
    setBusy(true);
    setProblem(null);
    setFound(null);
    try {
      const made = await client.POST("/api/v1/automations/{automation_id}/rehearsals", {
        params: { path: { automation_id: automationId } },
        body: { ...request, wait_seconds: LEAST_WAIT } as never,
      });
      let latest = made.data as Rehearsal;
      while (mine === turn.current) {
        setFound(latest);
        if (latest.done) break;
        await pause(LOOK_AGAIN_MS);
        const again = await client.GET("/api/v1/rehearsals/{rehearsal_id}", {
          params: { path: { rehearsal_id: latest.rehearsal_id } },
        });
        latest = again.data as Rehearsal;
      }
    } catch (refused) {
      if (mine === turn.current) setProblem(refused);
    } finally {
      if (mine === turn.current) setBusy(false);
    }
  }, [automationId]);
  const stop = useCallback(() => {
    turn.current += 1;
  }, []);
  return { found, problem, busy, rehearse, stop };
}

type Side = Firing["then"] | Firing["now"];

/** What one side of a firing did, in one line. */
export function describeEffects(side: Side): string {
  if (!side) return t.review.notRun;
  const done = side.deeds.map((one) => `${one.what} ${one.capability}`);
  return done.length ? done.join(", ") : t.review.noChanges;
}

/** Samples as typed: one JSON object, or a list of them. */
export function parseSamples(text: string): { samples: Sample[] } | { wrong: string } {
  const read = parseJson(text);
  if ("problem" in read) return { wrong: read.problem };
  const list: unknown[] = Array.isArray(read.value) ? read.value : [read.value];
  const fits = list.every((one) =>
    one !== null && typeof one === "object" && ("inputs" in one || "payload" in one)
  );
  if (!list.length || !fits) {
    return { wrong: t.review.aSampleIsAnObject };
  }
  return { samples: list as Sample[] };
}
