// Actions that may fail: pending state, a notification on success, the problem on failure.

import { notifications } from "@mantine/notifications";
import { useCallback, useState } from "react";
import { sentence } from "../api/problem";
import { t } from "../strings";

const closeButtonProps = { "aria-label": t.kit.close };

export function notifyDone(message: string): void {
  notifications.show({ message, color: "teal", closeButtonProps });
}

/** Done, but something else is needed before it takes effect. */
export function notifyHint(message: string): void {
  notifications.show({ message, color: "yellow", autoClose: 12_000, closeButtonProps });
}

export function notifyProblem(problem: unknown): void {
  notifications.show({
    message: sentence(problem),
    color: "red",
    autoClose: 12_000,
    closeButtonProps,
  });
}

type Action = {
  busy: boolean;
  /** Runs the action; false: it failed, and the user was notified. */
  act: (work: () => Promise<unknown>, done?: string) => Promise<boolean>;
};

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const act = useCallback(async (work: () => Promise<unknown>, done?: string) => {
    setBusy(true);
    try {
      await work();
      if (done) notifyDone(done);
      return true;
    } catch (problem) {
      notifyProblem(problem);
      return false;
    } finally {
      setBusy(false);
    }
  }, []);
  return { busy, act };
}
