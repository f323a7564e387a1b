// Focusing a field by its JSON pointer, also inside a collapsed section.

import { useEffect, useState } from "react";
import { above } from "./pointers";

type Listener = (pointer: string) => void;
const listeners = new Set<Listener>();
const LONGEST_WAIT = 2500;

const isInside = (pointer: string, part: string) =>
  pointer === part || pointer.startsWith(`${part}/`);

/** A collapsible section that opens when a field inside it is focused. */
export function useCollapsible(
  pointer: string,
  openAtFirst: boolean,
  holds?: (wanted: string) => boolean,
) {
  const [isOpen, setOpen] = useState(openAtFirst);
  useEffect(() => {
    const listener: Listener = (wanted) => {
      if (holds ? holds(wanted) : isInside(wanted, pointer)) setOpen(true);
    };
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [pointer, holds]);
  return [isOpen, setOpen] as const;
}

const FOCUSABLE =
  "input:not([type=hidden]):not([disabled]), textarea, select, .cm-content, button[aria-haspopup=listbox]";

function holderOf(pointer: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-pointer="${CSS.escape(pointer)}"]`);
}

function nearest(pointer: string): [HTMLElement | null, boolean] {
  const exact = holderOf(pointer);
  if (exact) return [exact, true];
  for (let at = above(pointer);; at = above(at)) {
    const found = holderOf(at);
    if (found || !at) return [found, false];
  }
}

function scrollAndFocus(holder: HTMLElement): void {
  holder.scrollIntoView({ block: "center" });
  const control = holder.matches(FOCUSABLE) ? holder : holder.querySelector<HTMLElement>(FOCUSABLE);
  if (control) control.focus({ preventScroll: true });
  else {
    holder.tabIndex = -1;
    holder.focus({ preventScroll: true });
  }
}

/** Scrolls to the field of a pointer, or the nearest field around it, and focuses it. */
export function focusPointer(pointer: string): void {
  // Sections open one at a time: a nested one is mounted only after its parent opened.
  const began = performance.now();
  let seen = "";
  const look = () => {
    for (const listener of [...listeners]) listener(pointer);
    const [holder, exact] = nearest(pointer);
    const ready = holder &&
      (exact ? !!holder.querySelector(FOCUSABLE) || holder.matches(FOCUSABLE) : false);
    const now = holder?.dataset.pointer ?? "";
    const waited = performance.now() - began;
    if (ready || waited > LONGEST_WAIT || (holder && now === seen && waited > 400)) {
      if (holder) scrollAndFocus(holder);
      return;
    }
    seen = now;
    setTimeout(look, 40);
  };
  look();
}
