// Keyboard shortcuts of the inbox, disabled while typing.

import { t } from "../../strings";

export type KeyAction =
  | "next"
  | "previous"
  | "approve"
  | "edit"
  | "discard"
  | "undo"
  | "open"
  | "keys";

const KEY_ACTIONS: Record<string, KeyAction> = {
  j: "next",
  ArrowDown: "next",
  k: "previous",
  ArrowUp: "previous",
  a: "approve",
  e: "edit",
  d: "discard",
  u: "undo",
  Enter: "open",
  "?": "keys",
};

/** How long an item must be visible before a key answers it: a new item was not read yet. */
export const READ_MS = 700;
export const isAnswer = (action: KeyAction) => action === "approve" || action === "discard";

/** The shortcuts as help text. */
export const KEYS: { keys: string[]; text: string }[] = [
  { keys: ["J", "K"], text: t.inbox.moveDownAndUpThe },
  { keys: ["A"], text: t.inbox.approveItIsSentAfter },
  { keys: ["E"], text: t.inbox.editTheTextFirst },
  { keys: ["D"], text: t.inbox.discardOrDecline },
  { keys: ["U"], text: t.inbox.undoAnApprovalBeforeIt },
  { keys: ["Enter"], text: t.inbox.openTheSelectedItem },
  { keys: ["?"], text: t.inbox.showKeyboardShortcuts },
];

export type Pressed = {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  repeat?: boolean;
  defaultPrevented?: boolean;
  target: EventTarget | null;
};

const WRITES =
  "input, textarea, select, [contenteditable='true'], [role='textbox'], [role='combobox']";
// Elements in which these keys have their own meaning.
const OWN =
  "button, a, summary, [role='tab'], [role='menu'], [role='dialog'], [role='switch'], [role='slider']";

const within = (target: EventTarget | null, where: string) =>
  typeof (target as Element | null)?.closest === "function" &&
  (target as Element).closest(where) !== null;

/** The action of a key on this target; null: none. */
export function keyAction(event: Pressed): KeyAction | null {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return null;
  const action = KEY_ACTIONS[event.key];
  if (!action || within(event.target, WRITES) || within(event.target, "[role='dialog']")) {
    return null;
  }
  // Key repeat only moves the selection; it never repeats an action.
  if (event.repeat && action !== "next" && action !== "previous") return null;
  const isNative = event.key === "Enter" || event.key.startsWith("Arrow");
  return isNative && within(event.target, OWN) ? null : action;
}
