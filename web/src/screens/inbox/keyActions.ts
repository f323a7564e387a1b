// The current keyboard actions: the visible pane registers what approve, edit and discard do.

import { createContext, type RefObject, useContext, useEffect } from "react";

export type KeyActions = { approve?: () => void; edit?: () => void; discard?: () => void };

const Context = createContext<RefObject<KeyActions> | null>(null);
export const DeedsProvider = Context.Provider;

/** Registers the keyboard actions while mounted; null: none. */
export function useKeyActions(actions: KeyActions | null): void {
  const place = useContext(Context);
  useEffect(() => {
    if (!place || !actions) return;
    place.current = actions;
    return () => {
      if (place.current === actions) place.current = {};
    };
  });
}
