// The destination after signing in.
//
// It is kept in localStorage, because a sign-in link often opens in another tab, and expires soon.
// Only a path of this origin is ever opened.

const KEY = "mainspring.wanted";
const KEPT_FOR = 15 * 60 * 1000;

export function redirectToSignIn(): void {
  if (location.pathname === "/sign-in") return;
  storeDestination();
  location.replace("/sign-in");
}

/** Stores the destination; a sign-in link that is opened in another tab leads there. */
export function storeDestination(): void {
  try {
    const path = location.pathname + location.search + location.hash;
    localStorage.setItem(KEY, JSON.stringify({ path, at: Date.now() }));
  } catch {
    // Without storage, the user lands on the first screen.
  }
}

export function readDestination(): string {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "null") as
      | { path: string; at: number }
      | null;
    localStorage.removeItem(KEY);
    return kept && Date.now() - kept.at < KEPT_FOR && isOwnPath(kept.path) ? kept.path : "/";
  } catch {
    return "/";
  }
}

/** A path of this origin: it begins with one slash and cannot be parsed as another origin. */
export function isOwnPath(path: string): boolean {
  if (!/^\/(?![/\\])/.test(path) || path.startsWith("/sign-in")) return false;
  try {
    return new URL(path, location.origin).origin === location.origin;
  } catch {
    return false;
  }
}
