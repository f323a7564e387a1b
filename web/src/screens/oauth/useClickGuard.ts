// Clickjacking protection: another page can open this screen under the pointer between the two
// clicks of a double click.

import { useEffect, useState } from "react";

const MOMENT_MS = 500;

/** Whether the page has been visible and focused for a moment. */
export function useClickGuard(): boolean {
  const [settled, setSettled] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const begin = () => {
      clearTimeout(timer);
      setSettled(false);
      if (document.visibilityState === "visible") {
        timer = setTimeout(() => setSettled(true), MOMENT_MS);
      }
    };
    begin();
    document.addEventListener("visibilitychange", begin);
    addEventListener("focus", begin);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", begin);
      removeEventListener("focus", begin);
    };
  }, []);
  return settled;
}
