// What the keys do at the moment: whatever is looked at says what approving, editing and discarding
// mean for it.

import { createContext, type RefObject, useContext, useEffect } from "react";

export type Deeds = { approve?: () => void; edit?: () => void; discard?: () => void };

const Context = createContext<RefObject<Deeds> | null>(null);
export const DeedsProvider = Context.Provider;

/** Says what the keys do while this is shown; null: nothing of its own. */
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
