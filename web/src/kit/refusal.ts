// A form that was refused keeps what was typed, and says what is wrong at the field it is about.

import { useCallback, useState } from "react";
import { byPointer, Problem, sentence } from "../api/problem";

// Problems that name no field, though they are about one.
const ABOUT: Record<string, string> = { email_taken: "email" };

export type Refusal = {
  /** What is wrong with this field, or nothing. */
  at: (field: string) => string | undefined;
  /** What is wrong with none of the fields that were named. */
  rest: unknown;
};

/** The problem, shared out among the fields of a form; what fits none of them is the rest. */
export function shareOut(problem: unknown, fields: readonly string[]): Refusal {
  if (!(problem instanceof Problem)) return { at: () => undefined, rest: problem };
  const found = Object.entries(byPointer(problem.findings))
    .map(([pointer, text]) => [pointer.split("/")[1] ?? "", text] as const);
  const about = ABOUT[problem.code];
  if (!found.length && about) found.push([about, sentence(problem)]);
  const known = new Map(found.filter(([field]) => fields.includes(field)).reverse());
  const rest = found.length > 0 && found.every(([field]) => known.has(field)) ? null : problem;
  return { at: (field) => known.get(field), rest };
}

type Sending = {
  busy: boolean;
  refusal: Refusal;
  /** Runs the work; true: it was done. */
  send: (work: () => Promise<unknown>) => Promise<boolean>;
  /** Whoever changes a field has heard what was wrong with it. */
  forget: () => void;
};

export function useSending(...fields: string[]): Sending {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const send = useCallback(async (work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(null);
    try {
      await work();
      return true;
    } catch (refused) {
      setProblem(refused);
      return false;
    } finally {
      setBusy(false);
    }
  }, []);
  const forget = useCallback(() => setProblem(null), []);
  return { busy, refusal: shareOut(problem, fields), send, forget };
}
