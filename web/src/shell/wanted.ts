// Where somebody wanted to go who had to sign in first.
//
// It is kept by the browser, because a link for signing in is often opened in another tab, and
// forgotten soon. Only an address of this very page is ever gone to.

const KEY = "mainspring.wanted";
const KEPT_FOR = 15 * 60 * 1000;

export function goAndSignIn(): void {
  if (location.pathname === "/sign-in") return;
  noteWanted();
  location.replace("/sign-in");
}

/** This place is wanted; a link for signing in that is opened in another tab leads here. */
export function noteWanted(): void {
  try {
    const path = location.pathname + location.search + location.hash;
    localStorage.setItem(KEY, JSON.stringify({ path, at: Date.now() }));
  } catch {
    // A browser that keeps nothing leads to the first screen afterwards.
  }
}

export function wantedPlace(): string {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "null") as
      | { path: string; at: number }
      | null;
    localStorage.removeItem(KEY);
    return kept && Date.now() - kept.at < KEPT_FOR && isOurs(kept.path) ? kept.path : "/";
  } catch {
    return "/";
  }
}

/** A path of this page: it begins with one stroke and stays on this site however it is read. */
export function isOurs(path: string): boolean {
  if (!/^\/(?![/\\])/.test(path) || path.startsWith("/sign-in")) return false;
  try {
    return new URL(path, location.origin).origin === location.origin;
  } catch {
    return false;
  }
}
