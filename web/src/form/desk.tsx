// The desk that all fields of one form share: where they put what was written, and what they may
// ask. It stays the same while somebody writes, so that no field is drawn anew for its sake.

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { Findings, FindingsProvider } from "./findings";
import { put, valueAt } from "./pointers";
import type { Finding, Samples } from "./values";
import type { Vocabulary } from "./vocabulary";

export type FormContext = {
  set: (pointer: string, value: unknown) => void;
  /** Changes what stands there now. */
  change: (pointer: string, how: (value: unknown) => unknown) => void;
  current: () => unknown;
  samples: () => Samples | undefined;
  secrets: () => string[];
  /** Something is written there that cannot be read yet; null: it can. */
  broken: (pointer: string, text: string | null) => void;
  readOnly: boolean;
  /** No names of code beside the titles: a form for people who answer. */
  plain: boolean;
  /** To be read first: every card is closed until somebody opens it. */
  folded: boolean;
  vocabulary?: Vocabulary;
};

const NOTHING: FormContext = {
  set: () => {},
  change: () => {},
  current: () => undefined,
  samples: () => undefined,
  secrets: () => [],
  broken: () => {},
  readOnly: true,
  plain: true,
  folded: false,
};
const Context = createContext<FormContext>(NOTHING);
export const useFormContext = () => useContext(Context);

export type Given = {
  value: unknown;
  onChange: (next: unknown) => void;
  findings: readonly Finding[];
  samples?: Samples;
  secrets?: string[];
  readOnly: boolean;
  plain: boolean;
  folded?: boolean;
  vocabulary?: Vocabulary;
  onBroken?: (broken: ReadonlyMap<string, string>) => void;
};

/** Everything that may change under a desk without the desk changing. */
function useLive(given: Given) {
  const live = useRef(given);
  const document = useRef(given.value);
  live.current = given;
  document.current = given.value;
  return { live, document };
}

export function FormProvider({ children, ...given }: Given & { children: ReactNode }) {
  const { live, document } = useLive(given);
  const { readOnly, plain, folded = false, vocabulary, findings } = given;
  const store = useMemo(() => new Findings(), []);
  useEffect(() => store.tell(findings), [store, findings]);
  const form = useMemo<FormContext>(() => {
    const unread = new Map<string, string>();
    const set = (pointer: string, value: unknown) => {
      // Two changes may come before the page is drawn again; the second builds on the first.
      document.current = put(document.current, pointer, value);
      live.current.onChange(document.current);
    };
    return {
      set,
      change: (pointer, how) => set(pointer, how(valueAt(document.current, pointer))),
      current: () => document.current,
      samples: () => live.current.samples,
      secrets: () => live.current.secrets ?? [],
      broken: (pointer, text) => {
        if (text === null && !unread.has(pointer)) return;
        if (text === null) unread.delete(pointer);
        else unread.set(pointer, text);
        live.current.onBroken?.(new Map(unread));
      },
      readOnly,
      plain,
      folded,
      vocabulary,
    };
  }, [readOnly, plain, folded, vocabulary]);
  return (
    <Context.Provider value={form}>
      <FindingsProvider value={store}>{children}</FindingsProvider>
    </Context.Provider>
  );
}
