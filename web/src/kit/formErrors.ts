// A rejected form keeps its input and shows each error at its field.

import { useCallback, useState } from "react";
import { byPointer, Problem, sentence } from "../api/problem";

// Error codes without a pointer that belong to a field.
const ABOUT: Record<string, string> = { email_taken: "email" };

export type FormErrors = {
  /** The error of this field, if any. */
  at: (field: string) => string | undefined;
  /** Errors that belong to none of the named fields. */
  rest: unknown;
};

/** Distributes a problem over the fields of a form; the rest belongs to no field. */
export function distributeErrors(problem: unknown, fields: readonly string[]): FormErrors {
  if (!(problem instanceof Problem)) return { at: () => undefined, rest: problem };
  const found = Object.entries(byPointer(problem.findings))
    .map(([pointer, text]) => [pointer.split("/")[1] ?? "", text] as const);
  const about = ABOUT[problem.code];
  if (!found.length && about) found.push([about, sentence(problem)]);
  const known = new Map(found.filter(([field]) => fields.includes(field)).reverse());
  const rest = found.length > 0 && found.every(([field]) => known.has(field)) ? null : problem;
  return { at: (field) => known.get(field), rest };
}

type Submit = {
  busy: boolean;
  refusal: FormErrors;
  /** Runs the request; true: it succeeded. */
  send: (work: () => Promise<unknown>) => Promise<boolean>;
  /** Clears the error of a field when it is edited. */
  forget: () => void;
};

export function useSubmit(...fields: string[]): Submit {
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
  return { busy, refusal: distributeErrors(problem, fields), send, forget };
}
