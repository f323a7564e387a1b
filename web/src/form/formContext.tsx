// The React context that all fields of one form share: setting values and looking up samples. It is
// stable while the user types, so that it causes no rerenders.

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { FindingsProvider, FindingStore } from "./findings";
import { setAt, valueAt } from "./pointers";
import type { Finding, Samples } from "./values";
import type { Vocabulary } from "./vocabulary";

export type FormContext = {
  set: (pointer: string, value: unknown) => void;
  /** Updates the current value at a pointer. */
  change: (pointer: string, how: (value: unknown) => unknown) => void;
  current: () => unknown;
  samples: () => Samples | undefined;
  secrets: () => string[];
  /** Reports input that cannot be parsed yet; null: it can. */
  broken: (pointer: string, text: string | null) => void;
  readOnly: boolean;
  /** Hides identifiers next to the titles: a form for end users. */
  plain: boolean;
  /** Read-first mode: every card is collapsed until opened. */
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

export type FormProviderProps = {
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

/** The latest props in refs, so that the context value does not change with them. */
function useLive(props: FormProviderProps) {
  const live = useRef(props);
  const document = useRef(props.value);
  live.current = props;
  document.current = props.value;
  return { live, document };
}

export function FormProvider({ children, ...props }: FormProviderProps & { children: ReactNode }) {
  const { live, document } = useLive(props);
  const { readOnly, plain, folded = false, vocabulary, findings } = props;
  const store = useMemo(() => new FindingStore(), []);
  useEffect(() => store.update(findings), [store, findings]);
  const form = useMemo<FormContext>(() => {
    const unread = new Map<string, string>();
    const set = (pointer: string, value: unknown) => {
      // Two changes may arrive before the next render; the second builds on the first.
      document.current = setAt(document.current, pointer, value);
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
