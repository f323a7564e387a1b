// Unsaved work: kept in this tab, so that a reload or a wrong click loses nothing.

import { useCallback, useEffect, useRef, useState } from "react";
import { same } from "../../form/pointers";

type Kept = { definition: unknown };

function read(key: string): Kept | null {
  try {
    const text = sessionStorage.getItem(key);
    return text ? JSON.parse(text) as Kept : null;
  } catch {
    return null;
  }
}

function keep(key: string, definition: unknown): void {
  try {
    sessionStorage.setItem(key, JSON.stringify({ definition }));
  } catch {
    // A tab that keeps nothing still has what stands on the page.
  }
}

const PAUSE = 400;

/** What is being written, from where somebody left off; `base` is what it is compared with. */
export function useDraft(key: string, start: unknown) {
  const [kept] = useState(() => read(key));
  const wasKept = kept !== null && !same(kept.definition, start);
  const [definition, setDefinition] = useState<unknown>(wasKept ? kept.definition : start);
  const [base, setBase] = useState<unknown>(start);
  const isDirty = definition !== base && !same(definition, base);
  const latest = useRef({ definition, isDirty });
  latest.current = { definition, isDirty };
  useEffect(() => {
    const timer = setTimeout(() => {
      if (latest.current.isDirty) keep(key, latest.current.definition);
      else sessionStorage.removeItem(key);
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [key, definition, isDirty]);
  useEffect(() => () => {
    if (latest.current.isDirty) keep(key, latest.current.definition);
  }, [key]);
  const settle = useCallback((saved: unknown) => {
    latest.current = { definition: saved, isDirty: false };
    sessionStorage.removeItem(key);
    setBase(saved);
    setDefinition(saved);
  }, [key]);
  return { definition, setDefinition, base, isDirty, wasKept, settle };
}
