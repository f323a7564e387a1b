// The state of a screen is kept in its URL, so that it can be shared and the back button works.

import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

type Values = Record<string, string | undefined>;

/** The query parameters of the URL, and a setter for some of them. */
export function useUrlState(): [Values, (change: Values) => void] {
  const values = useSearch({ strict: false }) as Values;
  const navigate = useNavigate();
  const change = useCallback((more: Values) => {
    void navigate({
      to: ".",
      replace: true,
      search: (before: Values) => {
        const merged = { ...before, ...more };
        return Object.fromEntries(
          Object.entries(merged).filter(([, value]) => value),
        ) as never;
      },
    });
  }, [navigate]);
  return [values, change];
}
