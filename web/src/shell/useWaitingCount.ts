// The count of waiting items, updated by the stream.

import { useState } from "react";
import { useLive } from "../api/live";

export type Waiting = {
  drafts: number;
  approvals: number;
  consents: number;
  failures: number;
  unread: number;
};

const NONE: Waiting = { drafts: 0, approvals: 0, consents: 0, failures: 0, unread: 0 };

/** The inbox count; the stream sends it on connect and on every change. */
export function useWaitingCount(): Waiting & { all: number } {
  const [waiting, setWaiting] = useState(NONE);
  useLive(({ kind, data }) => {
    if (kind === "inbox") setWaiting({ ...NONE, ...(data as Partial<Waiting>) });
  });
  const { drafts, approvals, consents, failures } = waiting;
  return { ...waiting, all: drafts + approvals + consents + failures };
}
