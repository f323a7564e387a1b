// Which drafts of a set were shown: new or changed drafts must be read before all are approved.

import type { Draft } from "./items";
import { t } from "../../strings";

export type Shown = Pick<Draft, "id" | "hash">;
export type ReadDrafts = ReadonlyMap<string, string | null>;

export const seenOf = (drafts: Shown[]): ReadDrafts =>
  new Map(drafts.map((one) => [one.id, one.hash]));

export const withRead = (seen: ReadDrafts, { id, hash }: Shown): ReadDrafts =>
  new Map([...seen, [id, hash]]);

/** The drafts that changed since they were shown, and new ones. */
export const unreadOf = <One extends Shown>(seen: ReadDrafts, drafts: One[]): One[] =>
  drafts.filter(({ id, hash }) => !seen.has(id) || seen.get(id) !== hash);

export const describeUnread = (many: number) => t.inbox.ofTheseChangedWhileYou(many, many);
