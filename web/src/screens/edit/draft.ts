// The unsaved draft, kept in sessionStorage, so that a reload or a wrong click loses nothing.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { isEqualJson } from "../../form/pointers";
import { openStorage } from "../../kit/unsentInput";

type StoredDraft = { definition: unknown };

function readDraft(text: string | null): StoredDraft | null {
  try {
    return text ? JSON.parse(text) as StoredDraft : null;
  } catch {
    return null;
  }
}

const spelt = (definition: unknown) => JSON.stringify({ definition });

const PAUSE = 400;

/** The draft, restored if there is one; `base` is the version to compare with. */
export function useDraft(key: string, start: unknown) {
  const place = useMemo(() => openStorage(key), [key]);
  const [kept] = useState(() => readDraft(place.kept()));
  const wasKept = kept !== null && !isEqualJson(kept.definition, start);
  const [definition, setDefinition] = useState<unknown>(wasKept ? kept.definition : start);
  const [base, setBase] = useState<unknown>(start);
  const isDirty = definition !== base && !isEqualJson(definition, base);
  const latest = useRef({ definition, isDirty });
  latest.current = { definition, isDirty };
  useEffect(() => {
    const timer = setTimeout(() => {
      if (latest.current.isDirty) place.keep(spelt(latest.current.definition));
      else place.forget();
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [place, definition, isDirty]);
  useEffect(() => () => {
    if (latest.current.isDirty) place.keep(spelt(latest.current.definition));
  }, [place]);
  const finish = useCallback((saved: unknown) => {
    latest.current = { definition: saved, isDirty: false };
    place.forget();
    setBase(saved);
    setDefinition(saved);
  }, [place]);
  return { definition, setDefinition, base, isDirty, wasKept, settle: finish };
}
