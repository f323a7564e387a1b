// Debounced validation in the browser.

import { useEffect, useMemo, useState } from "react";
import type { Finding } from "./values";

const PAUSE = 300;
const NONE: Finding[] = [];

export function useCheck(
  value: unknown,
  check: ((value: unknown) => Promise<Finding[]>) | null,
  answer: Finding[] = NONE,
) {
  const [own, setOwn] = useState<Finding[]>(NONE);
  useEffect(() => {
    if (!check) return;
    let isOld = false;
    const timer = setTimeout(() => {
      check(value).then((found) => isOld || setOwn(found), () => {});
    }, PAUSE);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [value, check]);
  // Pointers with a server finding or an open question are skipped, so nothing is reported twice.
  return useMemo(() => {
    const spoken = new Set(
      answer.filter((one) => one.level !== "warning").map((one) => one.pointer),
    );
    return [...answer, ...own.filter((one) => !spoken.has(one.pointer))];
  }, [own, answer]);
}
