// The findings by pointer, in a store outside the form: a new validation rerenders only the
// affected fields.

import { createContext, useContext, useSyncExternalStore } from "react";
import { t } from "../strings";
import type { Finding } from "./values";

const NONE: readonly Finding[] = [];
const isBelow = (pointer: string, at: string) => pointer.startsWith(`${at}/`);

const equal = (one: readonly Finding[], other: readonly Finding[]) =>
  one.length === other.length &&
  one.every((each, at) =>
    each.pointer === other[at]!.pointer && each.detail === other[at]!.detail &&
    each.level === other[at]!.level
  );

export class FindingStore {
  private all: readonly Finding[] = NONE;
  private known = new Map<string, readonly Finding[]>();
  private listeners = new Set<() => void>();

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  update(next: readonly Finding[]): void {
    if (equal(this.all, next)) return;
    this.all = next;
    const before = this.known;
    this.known = new Map();
    // Unchanged findings keep their array, so subscribers do not rerender.
    for (const [key, previous] of before) {
      const [mode, at] = [key.slice(0, 4), key.slice(4)];
      const now = this.find(at, mode === "deep");
      this.known.set(key, equal(previous, now) ? previous : now);
    }
    for (const listener of this.listeners) listener();
  }

  /** The findings at this pointer; deep: also those inside it. */
  at(pointer: string, deep: boolean): readonly Finding[] {
    const key = `${deep ? "deep" : "here"}${pointer}`;
    const known = this.known.get(key);
    if (known) return known;
    const found = this.find(pointer, deep);
    this.known.set(key, found);
    return found;
  }

  private find(pointer: string, deep: boolean): readonly Finding[] {
    const found = this.all.filter((one) =>
      one.pointer === pointer || (deep && isBelow(one.pointer, pointer))
    );
    return found.length ? found : NONE;
  }
}

const DECLARE = /Declare ('[^']*') in inputs\.schema\.properties\./;

/** Replaces the JSON path that programs see with the name of the section in the form. */
export function withSectionNames(finding: Finding): Finding {
  const replaceSection = (text: string) =>
    text.replace(DECLARE, (_, name: string) => t.form.declareUnder(name, t.form.inputsAndLimits));
  const { detail, suggestion } = finding;
  return {
    ...finding,
    detail: replaceSection(detail),
    suggestion: suggestion && replaceSection(suggestion),
  };
}

const Context = createContext(new FindingStore());
export const FindingsProvider = Context.Provider;

/** The findings of a field; deep: including nested values without a field of their own. */
export function useFindings(pointer: string, deep: boolean): readonly Finding[] {
  const store = useContext(Context);
  return useSyncExternalStore(store.subscribe, () => store.at(pointer, deep));
}
