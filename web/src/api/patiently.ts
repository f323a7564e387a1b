// Parts of the page that are fetched when they are first shown, also while the server is away.

const PAUSE = 1_000;
const PATIENCE = 5_000;

/** Whether somebody answers at the address of this page, and is no proxy without a server. */
async function answers(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    return (await fetch("/api/v1/health/live", { cache: "no-store", signal })).status < 500;
  } catch {
    return false;
  }
}

/**
 * Fetches a part of the page once the server answers. A browser remembers that a script could not
 * be fetched and does not try again before the page is loaded anew, so it is not asked for too
 * early; a part that cannot be fetched from a server that answers needs a new page.
 */
export function patiently<T>(load: () => Promise<T>, pause = PAUSE): () => Promise<T> {
  return async () => {
    for (;;) {
      while (!(await answers())) await new Promise((go) => setTimeout(go, pause));
      try {
        return await load();
      } catch (error) {
        if (await answers()) throw error;
      }
    }
  };
}
