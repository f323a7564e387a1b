// Undo before send: an approval is delayed for a few seconds, in this tab only, before the request
// is sent. If the tab is closed meanwhile, nothing was sent and the draft still waits.

import { useSyncExternalStore } from "react";
import { t } from "../../strings";

export const HOLD_MS = 5000;

export type Outcome = {
  tone: "good" | "bad" | "doubt";
  text: string;
  /** For a batch: each outcome. */
  each?: { draft: string; title: string; text: string; tone: Outcome["tone"] }[];
};
export type DelayedApproval = {
  id: string;
  /** The drafts concerned. */
  drafts: string[];
  title: string;
  until: number;
  state: "held" | "sending" | "finished";
  outcome: Outcome | null;
};

export type ApprovalRequest = {
  id: string;
  drafts: string[];
  title: string;
  send: () => Promise<Outcome>;
};

export type Clock = {
  now: () => number;
  later: (work: () => void, ms: number) => number;
  stop: (timer: number) => void;
};

export type ApprovalQueue = ReturnType<typeof createApprovalQueue>;

const real: Clock = {
  now: () => Date.now(),
  later: (work, ms) => setTimeout(work, ms) as unknown as number,
  stop: (timer) => clearTimeout(timer),
};

/**
 * The queue of delayed approvals; the page has one, and tests create their own with a fake clock.
 */
export function createApprovalQueue(clock: Clock = real) {
  let held: readonly DelayedApproval[] = [];
  const timers = new Map<string, number>();
  const watchers = new Set<() => void>();
  const set = (next: readonly DelayedApproval[]) => {
    held = next;
    for (const watcher of [...watchers]) watcher();
  };
  const change = (id: string, more: Partial<DelayedApproval>) =>
    set(held.map((one) => one.id === id ? { ...one, ...more } : one));

  async function sendNow({ id, send }: ApprovalRequest) {
    timers.delete(id);
    change(id, { state: "sending" });
    let outcome: Outcome;
    try {
      outcome = await send();
    } catch (problem) {
      outcome = {
        tone: "bad",
        text: problem instanceof Error ? problem.message : t.inbox.itWasNotSent,
      };
    }
    change(id, { state: "finished", outcome });
  }

  return {
    /** Delays an approval; false: one of its drafts is already in progress. */
    hold(request: ApprovalRequest): boolean {
      const busy = held.some((one) =>
        one.state !== "finished" && one.drafts.some((draft) => request.drafts.includes(draft))
      );
      if (busy) return false;
      const { id, drafts, title } = request;
      const until = clock.now() + HOLD_MS;
      set([...held.filter((one) => one.id !== id), {
        id,
        drafts,
        title,
        until,
        state: "held",
        outcome: null,
      }]);
      timers.set(id, clock.later(() => void sendNow(request), HOLD_MS));
      return true;
    },
    /** Cancels one, the latest if none is named; returns it unless it was too late. */
    undo(id?: string): DelayedApproval | null {
      const found = held.filter((one) => one.state === "held" && (!id || one.id === id)).at(
        -1,
      );
      if (!found) return null;
      clock.stop(timers.get(found.id)!);
      timers.delete(found.id);
      set(held.filter((one) => one !== found));
      return found;
    },
    /** Removes a finished entry; a rejection stays with its drafts until they are retried. */
    forget(id: string) {
      const isOver = (one: DelayedApproval) =>
        one.state === "finished" && one.outcome?.tone !== "bad";
      set(held.filter((one) => one.id !== id || !isOver(one)));
    },
    of: (draft: string) =>
      held.find((one) => one.state !== "finished" && one.drafts.includes(draft)),
    all: () => held,
    watch(watcher: () => void) {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

type WaitingDraft = { id: string; error: Record<string, unknown> | null };

/** Why approving a waiting draft failed: in this tab, or as recorded. */
export function describeRejection(
  { id, error }: WaitingDraft,
  held: readonly DelayedApproval[],
): string | null {
  const last = held.filter((one) => one.state === "finished" && one.drafts.includes(id)).at(-1)
    ?.outcome;
  const answer = last?.each?.find(({ draft }) => draft === id) ?? last;
  if (answer) return answer.tone === "bad" ? answer.text : null;
  const { detail, suggestion } = error ?? {};
  return [detail, suggestion].filter((one) => typeof one === "string" && one).join(" ") || null;
}

export const approvalQueue = createApprovalQueue();
export const useDelayedApprovals = () =>
  useSyncExternalStore(approvalQueue.watch, approvalQueue.all);
export const secondsLeft = (until: number, now: number) =>
  Math.max(0, Math.ceil((until - now) / 1000));

/** Warns before the page is closed while an approval is delayed or in progress. */
export function warnBeforeUnload(at: Window, from: ApprovalQueue = approvalQueue): void {
  at.addEventListener("beforeunload", (event) => {
    if (from.all().some((one) => one.state !== "finished")) event.preventDefault();
  });
}
