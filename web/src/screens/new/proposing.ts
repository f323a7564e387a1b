// Asks for a proposal, which may take a minute, and tells how long it has taken so far.

import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useState } from "react";
import { client, refresh } from "../../api/client";
import type { Proposal } from "../../review/reading";
import { keepProposal } from "../proposal/asking";

export type Wanted = { text: string; automation?: string; by?: "auto" | "rules"; model?: string };

/** The zone that this browser lives in; none if it does not say. */
export function browserZone(): string | null {
  try {
    return Intl.DateTimeFormat().resolvedOptions().timeZone || null;
  } catch {
    return null;
  }
}

/** The same, unless it is UTC: a machine on UTC is taken to know no zone. */
export function knownZone(): string | null {
  const zone = browserZone();
  return zone === "UTC" || zone === "Etc/UTC" ? null : zone;
}

export function bodyOf({ text, automation, by, model }: Wanted, zone: string | null) {
  return {
    text: text.trim(),
    ...(automation ? { automation_id: automation } : {}),
    ...(by ? { by } : {}),
    ...(model && by !== "rules" ? { model } : {}),
    ...(zone ? { timezone: zone } : {}),
  };
}

export function usePropose() {
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const propose = useCallback(async (wanted: Wanted): Promise<boolean> => {
    setBusy(true);
    setProblem(null);
    try {
      const { data } = await client.POST("/api/v1/proposals", {
        body: bodyOf(wanted, knownZone()),
      });
      const made = data as Proposal;
      keepProposal(made);
      void refresh("/api/v1/proposals");
      await navigate({
        to: "/proposals/$proposalId",
        params: { proposalId: made.proposal_id } as never,
      });
      return true;
    } catch (refused) {
      setProblem(refused);
      return false;
    } finally {
      setBusy(false);
    }
  }, [navigate]);
  return { busy, problem, propose };
}

/** Seconds since it began; it counts while it is asked for. */
export function useSeconds(): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const began = Date.now();
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - began) / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  return seconds;
}
