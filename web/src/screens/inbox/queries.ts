// The queries of the inbox.

import { useMemo } from "react";
import { api } from "../../api/client";
import { type Draft, groupDrafts, type Item, waitingItems } from "./items";

const MOST = 100;
const DONE = 30;

const drafts = (status: Draft["status"], limit: number) => ({
  params: { query: { status, limit } },
});

/** The items that wait for a person, the oldest first; undefined while loading. */
export function useWaitingItems() {
  const held = api.useQuery("get", "/api/v1/drafts", drafts("pending", MOST));
  const questions = api.useQuery("get", "/api/v1/approvals", {
    params: { query: { limit: MOST } },
  });
  const consents = api.useQuery("get", "/api/v1/consents", {
    params: { query: { limit: MOST } },
  });
  // Queried by health: in a large workspace they are not among the newest.
  const failing = api.useQuery("get", "/api/v1/automations", {
    params: { query: { health: "failing", limit: MOST } },
  });
  const all = [held, questions, consents, failing];
  const data = useMemo(() => {
    if (!held.data || !questions.data || !consents.data || !failing.data) return undefined;
    return waitingItems({
      drafts: held.data.items,
      questions: questions.data.approvals,
      consents: consents.data.consents,
      automations: failing.data.items,
    });
  }, [held.data, questions.data, consents.data, failing.data]);
  return {
    data,
    /** Whether this is fresh data and not from the cache. */
    isFresh: all.every((one) => !one.isFetching),
    error: all.find((one) => one.error)?.error ?? null,
    refetch: () => Promise.all(all.map((one) => one.refetch())),
  };
}

const newestFirst = (items: Item[]) => items.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
const asItem = (draft: Draft): Item => ({
  kind: "draft",
  id: draft.id,
  at: draft.answered_at ?? draft.expires_at,
  draft,
});

type Answers = { data?: { approvals: { approval_id: string }[] } };
const questionsOf = (...asked: Answers[]): Item[] =>
  asked.flatMap(({ data }) =>
    (data?.approvals ?? []) as (Item & { kind: "question" })["question"][]
  )
    .map((question) => ({
      kind: "question",
      id: question.approval_id,
      at: question.answered_at ?? question.expires_at,
      question,
    }));

const questions = (status: "approved" | "declined" | "expired") => ({
  params: { query: { status, limit: DONE } },
});

/** Expired items. */
export function useExpired(enabled: boolean) {
  const left = api.useQuery("get", "/api/v1/drafts", drafts("expired", MOST), { enabled });
  const asked = api.useQuery("get", "/api/v1/approvals", questions("expired"), { enabled });
  const data = left.data && asked.data
    ? newestFirst([...groupDrafts(left.data.items).flatMap(flat), ...questionsOf(asked)])
    : undefined;
  return { data, error: left.error ?? asked.error, refetch: left.refetch };
}

const flat = (item: Item): Item[] =>
  item.kind === "batch"
    ? item.drafts.map(asItem)
    : item.kind === "draft"
    ? [asItem(item.draft)]
    : [item];

/** Answered items, the newest first. */
export function useDone(enabled: boolean, limit: number) {
  const sent = api.useQuery("get", "/api/v1/drafts", drafts("confirmed", limit), { enabled });
  const failed = api.useQuery("get", "/api/v1/drafts", drafts("failed", limit), { enabled });
  const discarded = api.useQuery("get", "/api/v1/drafts", drafts("discarded", limit), {
    enabled,
  });
  const yes = api.useQuery("get", "/api/v1/approvals", questions("approved"), { enabled });
  const no = api.useQuery("get", "/api/v1/approvals", questions("declined"), { enabled });
  const parts = [sent, failed, discarded];
  const isThere = parts.every((one) => one.data) && yes.data && no.data;
  const items = parts.flatMap((one) => one.data?.items ?? []).map(asItem);
  return {
    data: isThere ? newestFirst([...items, ...questionsOf(yes, no)]) : undefined,
    more: parts.some((one) => one.data?.next),
    error: [...parts, yes, no].find((one) => one.error)?.error ?? null,
    refetch: () => Promise.all([...parts, yes, no].map((one) => one.refetch())),
  };
}

/** The item counts of the tabs. */
export function useCounts(waiting: number | undefined) {
  const expired = api.useQuery("get", "/api/v1/drafts", drafts("expired", MOST));
  const unread = api.useQuery("get", "/api/v1/inbox", {
    params: { query: { unread: true, limit: MOST } },
  });
  const rules = api.useQuery("get", "/api/v1/standing-rules", {
    params: { query: { status: "proposed", limit: MOST } },
  });
  return {
    waiting: waiting ?? 0,
    messages: unread.data?.items.length ?? 0,
    expired: expired.data?.items.length ?? 0,
    rules: rules.data?.rules.length ?? 0,
  };
}
