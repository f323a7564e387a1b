// Keyboard shortcuts of the list: / to search, j and k to move, Enter to open.

import { useEffect } from "react";

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName));

/** Every link of the list is marked; the keys move the focus between them. */
export function useListKeys(mark: string, search: () => HTMLElement | null): void {
  useEffect(() => {
    const move = (by: number) => {
      const links = [...document.querySelectorAll<HTMLElement>(`[${mark}]`)];
      const at = links.indexOf(document.activeElement as HTMLElement);
      links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
    };
    const handleKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("[role=dialog]")) return;
      if (event.key === "/") search()?.focus();
      else if (event.key === "j") move(1);
      else if (event.key === "k") move(-1);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", handleKey);
    return () => document.removeEventListener("keydown", handleKey);
  }, [mark, search]);
}
