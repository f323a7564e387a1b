// Requests a proposal, which may take a minute, and reports the elapsed time.

import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useState } from "react";
import { client, refresh } from "../../api/client";
import type { Proposal } from "../../review/reviewText";
import { keepProposal } from "../proposal/requests";

export type ProposalRequest = {
  text: string;
  automation?: string;
  by?: "auto" | "rules";
  model?: string;
};

/** The browser's time zone; undefined if unknown. */
export function browserZone(): string | null {
  try {
    return Intl.DateTimeFormat().resolvedOptions().timeZone || null;
  } catch {
    return null;
  }
}

/** The same, except UTC: a machine on UTC probably has no configured zone. */
export function knownZone(): string | null {
  const zone = browserZone();
  return zone === "UTC" || zone === "Etc/UTC" ? null : zone;
}

export function bodyOf({ text, automation, by, model }: ProposalRequest, zone: string | null) {
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
  const propose = useCallback(async (request: ProposalRequest): Promise<boolean> => {
    setBusy(true);
    setProblem(null);
    try {
      const { data } = await client.POST("/api/v1/proposals", {
        body: bodyOf(request, knownZone()),
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

/** Seconds since the request began, updated while it is pending. */
export function useSeconds(): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const began = Date.now();
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - began) / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  return seconds;
}
