// The current keyboard actions: the visible pane registers what approve, edit and discard do.

import { createContext, type RefObject, useContext, useEffect } from "react";

export type Deeds = { approve?: () => void; edit?: () => void; discard?: () => void };

const Context = createContext<RefObject<Deeds> | null>(null);
export const DeedsProvider = Context.Provider;

/** Registers the keyboard actions while mounted; null: none. */
export function useDeeds(deeds: Deeds | null): void {
  const place = useContext(Context);
  useEffect(() => {
    if (!place || !deeds) return;
    place.current = deeds;
    return () => {
      if (place.current === deeds) place.current = {};
    };
  });
}
