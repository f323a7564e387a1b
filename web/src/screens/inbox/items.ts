// All inbox items as one list: the longest waiting first, and the drafts of one turn together.

import type { Answer, Schemas } from "../../api/client";
import { humanize } from "../../kit/format";
import { t } from "../../strings";

export type Draft = Schemas["DraftShape"];
export type Question = Answer<"list_approvals">["approvals"][number];
export type Consent = Answer<"list_consents">["consents"][number];
export type Failing = Schemas["AutomationSummary"];

export type Item =
  | { kind: "draft"; id: string; at: string; draft: Draft }
  | { kind: "batch"; id: string; at: string; drafts: Draft[] }
  | { kind: "question"; id: string; at: string; question: Question }
  | { kind: "consent"; id: string; at: string; consent: Consent }
  | { kind: "failure"; id: string; at: string; failing: Failing };

export type Parts = {
  drafts: Draft[];
  questions: Question[];
  consents: Consent[];
  automations: Failing[];
};

/** Automations whose failures are not acknowledged. */
export const failingOf = (automations: Failing[]) =>
  automations.filter((one) => one.failures > 0 && one.state !== "archived");

/** Groups the drafts of one turn; a single one stays a draft. */
export function groupDrafts(drafts: Draft[]): Item[] {
  const sets = new Map<string, Draft[]>();
  for (const draft of drafts) {
    const key = draft.batch_id ?? draft.id;
    sets.set(key, [...(sets.get(key) ?? []), draft]);
  }
  return [...sets.entries()].map(([key, set]): Item => {
    const ordered = [...set].sort((a, b) => a.id.localeCompare(b.id));
    const first = ordered[0]!;
    return ordered.length > 1
      ? { kind: "batch", id: key, at: first.created_at, drafts: ordered }
      : { kind: "draft", id: first.id, at: first.created_at, draft: first };
  });
}

export function waitingItems({ drafts, questions, consents, automations }: Parts): Item[] {
  const items: Item[] = [
    ...groupDrafts(drafts),
    ...questions.map((question): Item => ({
      kind: "question",
      id: question.approval_id,
      at: question.created_at ?? question.expires_at,
      question,
    })),
    ...consents.map((consent): Item => ({
      kind: "consent",
      id: consent.consent_id,
      at: consent.asked_at ?? "",
      consent,
    })),
    ...failingOf(automations).map((failing): Item => ({
      kind: "failure",
      id: failing.id,
      at: failing.last_run?.at ?? failing.updated_at,
      failing,
    })),
  ];
  return items.sort((a, b) =>
    Date.parse(a.at || "0") - Date.parse(b.at || "0") || a.id.localeCompare(b.id)
  );
}

/**
 * The item of a URL: by its own id, by that of a draft inside a batch, or the last draft of a
 * batch.
 */
export const itemOf = (items: Item[], id: string | undefined) =>
  items.find((one) => one.id === id) ??
    items.find((one) => one.kind === "batch" && one.drafts.some((draft) => draft.id === id)) ??
    items.find((one) => id && one.kind === "draft" && one.draft.batch_id === id);

/** The item a number of positions away, clamped to the list. */
export function moveSelection(
  items: Item[],
  from: string | undefined,
  by: number,
): string | undefined {
  if (!items.length) return undefined;
  const at = items.findIndex((one) => one.id === from);
  if (at < 0) return items[0]!.id;
  return items[Math.min(items.length - 1, Math.max(0, at + by))]!.id;
}

/** The item to select after this one is answered: the next, otherwise the previous one. */
export function itemAfter(items: Item[], id: string): string | undefined {
  const at = items.findIndex((one) => one.id === id);
  return (items[at + 1] ?? items[at - 1])?.id;
}

export function titleOf(item: Item): string {
  switch (item.kind) {
    case "draft":
      return item.draft.preview;
    case "batch":
      return t.inbox.draftsOfOneStep(item.drafts.length);
    case "question":
      return item.question.title;
    case "consent":
      if (item.consent.run_id) {
        return t.inbox.repeatAnEarlierRun(item.consent.name ?? t.inbox.anAutomation);
      }
      return `${item.consent.name ?? t.inbox.anAutomation} ${
        item.consent.agreed_version ? t.inbox.asksForMorePermissions : t.inbox.needsYourConsent
      }`;
    case "failure":
      return item.failing.state === "paused" && item.failing.paused_reason === "failures"
        ? t.inbox.wasPausedAfterRepeatedFailures(item.failing.name)
        : t.inbox.failed(item.failing.name);
  }
}

export const KIND_LABELS: Record<Item["kind"], string> = {
  draft: t.inbox.draft,
  batch: t.inbox.batch,
  question: t.inbox.question,
  consent: t.inbox.consent,
  failure: t.inbox.failure,
};

/** The outcome of a discarded, sent or doubtful draft as badge text. */
export function describeDraftOutcome(draft: Pick<Draft, "status" | "outcome">): string {
  if (draft.status === "confirmed") return humanize("sent");
  if (draft.outcome === "unknown") return t.inbox.mayHaveBeenSent;
  if (draft.status === "failed") return t.inbox.notSent;
  return humanize(draft.status);
}

/** The badge of an answered item; null: it still waits. */
export function answeredBadge(item: Item): { text: string; color: string } | null {
  if (item.kind === "draft" && item.draft.status !== "pending") {
    const { status, outcome } = item.draft;
    const color = status === "confirmed"
      ? "teal"
      : outcome === "unknown" || status === "failed"
      ? "red"
      : "gray";
    return { text: describeDraftOutcome(item.draft), color };
  }
  if (item.kind === "question" && item.question.status !== "pending") {
    const { status } = item.question;
    return { text: humanize(status), color: status === "approved" ? "teal" : "gray" };
  }
  return null;
}

/** The automation it comes from. */
export function nameOf(item: Item): string | null | undefined {
  switch (item.kind) {
    case "draft":
      return item.draft.automation;
    case "batch":
      return item.drafts[0]?.automation;
    case "question":
      return item.question.automation;
    default:
      return undefined;
  }
}
