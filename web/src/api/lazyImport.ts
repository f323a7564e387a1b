// Lazy-loaded parts of the page, also while the server is restarting.

const PAUSE = 1_000;
const PATIENCE = 5_000;

/** Whether the server itself answers at this origin, not a proxy without a backend. */
async function isReachable(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    return (await fetch("/api/v1/health/live", { cache: "no-store", signal })).status < 500;
  } catch {
    return false;
  }
}

/**
 * Imports a part of the page once the server answers.
 *
 * A browser caches a failed module import until the next page load, so the import waits until the
 * server is reachable. If it fails although the server answers, the page is reloaded.
 */
export function importWhenReachable<T>(load: () => Promise<T>, pause = PAUSE): () => Promise<T> {
  return async () => {
    for (;;) {
      while (!(await isReachable())) await new Promise((go) => setTimeout(go, pause));
      try {
        return await load();
      } catch (error) {
        if (await isReachable()) throw error;
      }
    }
  };
}
