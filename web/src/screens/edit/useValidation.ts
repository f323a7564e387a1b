// Server-side validation of a definition while it is edited.

import { useEffect, useState } from "react";
import { client, type Schemas } from "../../api/client";
import type { Finding } from "../../form";

const PAUSE = 500;
const NONE: Finding[] = [];

export function findingsOf(verdict: Schemas["Verdict"]): Finding[] {
  const problem = (level: "error" | "warning") => (one: Schemas["FindingShape"]): Finding => ({
    pointer: one.pointer,
    detail: one.detail,
    level,
    suggestion: one.suggestion ?? undefined,
  });
  return [
    ...verdict.errors.map(problem("error")),
    ...verdict.warnings.map(problem("warning")),
    ...verdict.notes.map(({ pointer, detail }): Finding => ({
      pointer,
      detail,
      level: "note",
    })),
  ];
}

export type Validation = {
  state: "asking" | "good" | "bad" | "unknown";
  findings: Finding[];
  grants: Schemas["GrantShape"][];
  /** The validated definition. */
  of: unknown;
};

export function useValidation(definition: unknown): Validation {
  const [verdict, setVerdict] = useState<Validation>({
    state: "asking",
    findings: NONE,
    grants: [],
    of: definition,
  });
  useEffect(() => {
    const aborted = new AbortController();
    setVerdict((
      before,
    ) => (before.state === "asking" ? before : { ...before, state: "asking" }));
    const timer = setTimeout(async () => {
      try {
        const { data } = await client.POST("/api/v1/validate", {
          body: definition as Record<string, unknown>,
          signal: aborted.signal,
        });
        if (data && !aborted.signal.aborted) {
          setVerdict({
            state: data.ok ? "good" : "bad",
            findings: findingsOf(data),
            grants: data.grants,
            of: definition,
          });
        }
      } catch {
        if (!aborted.signal.aborted) {
          setVerdict((before) => ({ ...before, state: "unknown" }));
        }
      }
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      aborted.abort();
    };
  }, [definition]);
  return verdict;
}
