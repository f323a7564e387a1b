// Doing something that may be refused: busy while it goes on, a word when it is done, the whole
// problem when it is not.

import { notifications } from "@mantine/notifications";
import { useCallback, useState } from "react";
import { sentence } from "../api/problem";

const closeButtonProps = { "aria-label": "Close" };

export function sayDone(message: string): void {
  notifications.show({ message, color: "teal", closeButtonProps });
}

/** Done, and something is missing before it has an effect. */
export function sayHint(message: string): void {
  notifications.show({ message, color: "yellow", autoClose: 12_000, closeButtonProps });
}

export function sayProblem(problem: unknown): void {
  notifications.show({
    message: sentence(problem),
    color: "red",
    autoClose: 12_000,
    closeButtonProps,
  });
}

type Acting = {
  busy: boolean;
  /** Runs the work; false: it was refused, and the person was told. */
  act: (work: () => Promise<unknown>, done?: string) => Promise<boolean>;
};

export function useAct(): Acting {
  const [busy, setBusy] = useState(false);
  const act = useCallback(async (work: () => Promise<unknown>, done?: string) => {
    setBusy(true);
    try {
      await work();
      if (done) sayDone(done);
      return true;
    } catch (problem) {
      sayProblem(problem);
      return false;
    } finally {
      setBusy(false);
    }
  }, []);
  return { busy, act };
}
