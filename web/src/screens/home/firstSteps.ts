// First steps that leave no trace on the server, remembered in localStorage.

const LOOKED = "mainspring.looked-into-inbox";
const HIDDEN = "mainspring.first-steps-hidden";

function readFlag(key: string): boolean {
  try {
    return localStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}

function writeFlag(key: string): void {
  try {
    localStorage.setItem(key, "1");
  } catch {
    // Without storage the first steps are shown again.
  }
}

export const hasLooked = (workspace: string) => readFlag(`${LOOKED}.${workspace}`);
export const noteLooked = (workspace: string) => writeFlag(`${LOOKED}.${workspace}`);
export const isHidden = (workspace: string) => readFlag(`${HIDDEN}.${workspace}`);
export const hide = (workspace: string) => writeFlag(`${HIDDEN}.${workspace}`);
