// First steps that leave no trace on the server, remembered in localStorage.

const LOOKED = "mainspring.looked-into-inbox";
const HIDDEN = "mainspring.first-steps-hidden";

function kept(key: string): boolean {
  try {
    return localStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}

function keep(key: string): void {
  try {
    localStorage.setItem(key, "1");
  } catch {
    // Without storage the first steps are shown again.
  }
}

export const hasLooked = (workspace: string) => kept(`${LOOKED}.${workspace}`);
export const noteLooked = (workspace: string) => keep(`${LOOKED}.${workspace}`);
export const isHidden = (workspace: string) => kept(`${HIDDEN}.${workspace}`);
export const hide = (workspace: string) => keep(`${HIDDEN}.${workspace}`);
