// Answering items: each action sends exactly what was shown, records the decision, and reports the
// real outcome.

import { type Answer, client, refresh } from "../../api/client";
import { sentence } from "../../api/problem";
import type { Outcome } from "./delayedApprovals";
import type { Consent, Draft, Question } from "./items";
import { t } from "../../strings";

type Decision = "approved" | "declined";
type Confirmed = Answer<"confirm_action">;
type Results = Answer<"confirm_actions">["results"];

/** The server's batch limit. */
export const MOST_AT_ONCE = 50;

export const look = () =>
  refresh(
    "/api/v1/drafts",
    "/api/v1/inbox",
    "/api/v1/approvals",
    "/api/v1/consents",
    "/api/v1/standing-rules",
  );

// The decision is also recorded; it does not wait for that.
function acknowledge(id: string, decision: Decision): void {
  client.POST("/api/v1/inbox/{id}/ack", { params: { path: { id } }, body: { decision } }).catch(
    () => {},
  );
}

const detailOf = (error: unknown) => {
  const detail = (error as { detail?: unknown } | null | undefined)?.detail;
  return typeof detail === "string" ? detail : "";
};

/** The outcome of one approval as text. */
export function describeConfirmation(
  answer: Pick<Confirmed, "status" | "outcome" | "error" | "approvals" | "needed">,
): Outcome {
  if (answer.status === "approved") {
    const text = t.inbox.youApprovedOfApprovalsSo(answer.approvals, answer.needed);
    return { tone: "good", text };
  }
  if (answer.outcome === "unknown") {
    return {
      tone: "doubt",
      text: t.inbox.itIsUnknownWhetherIt(detailOf(answer.error)),
    };
  }
  if (answer.status === "failed") {
    return { tone: "bad", text: t.inbox.itCouldNotBeSent(detailOf(answer.error)) };
  }
  return { tone: "good", text: t.inbox.sentExactlyAsShown };
}

/** The outcome of several as text. */
export function describeBatch(results: Results): Outcome {
  const of = (status: string) => results.filter((one) => one.status === status);
  const [sent, agreed, failed] = [of("confirmed"), of("approved"), of("failed")];
  const text = [t.inbox.ofWereSent(sent.length, results.length)];
  if (agreed.length) {
    text.push(t.inbox.needsFurtherApprovals(agreed.length));
  }
  const doubtful = failed.filter((one) => one.outcome === "unknown").length;
  if (doubtful) text.push(t.inbox.forItIsUnknownWhether(doubtful));
  if (failed.length) text.push(t.inbox.firstOneNotSent(detailOf(failed[0]!.error)));
  return { tone: doubtful ? "doubt" : failed.length ? "bad" : "good", text: text.join(" ") };
}

/** Approves one draft in the revision shown on the page, and no other. */
export async function confirm(draft: Draft): Promise<Outcome> {
  try {
    const { data } = await client.POST("/api/v1/drafts/{draft_id}/confirm", {
      params: { path: { draft_id: draft.id } },
      body: draft.hash ? { hash: draft.hash } : {},
    });
    acknowledge(draft.id, "approved");
    return describeConfirmation(data!);
  } catch (problem) {
    return { tone: "bad", text: t.inbox.nothingWasSent(sentence(problem)) };
  } finally {
    void look();
  }
}

/** Approves several drafts, each in the revision shown on the page; returns each outcome. */
export async function confirmAll(drafts: Draft[]): Promise<Outcome> {
  const hashes = Object.fromEntries(
    drafts.flatMap((one) => one.hash ? [[one.id, one.hash]] : []),
  );
  try {
    const { data } = await client.POST("/api/v1/drafts/confirm", {
      body: { draft_ids: drafts.map((one) => one.id), hashes },
    });
    const { results } = data!;
    for (const one of results) {
      if (one.status !== "failed") acknowledge(one.draft_id, "approved");
    }
    const each = results.map((one) => {
      const title = drafts.find(({ id }) => id === one.draft_id)?.preview ?? t.inbox.aDraft;
      const { tone, text } = describeConfirmation({ outcome: "not_sent", ...one });
      return { draft: one.draft_id, title, tone, text };
    });
    return { ...describeBatch(results), each };
  } catch (problem) {
    return { tone: "bad", text: t.inbox.nothingWasSent(sentence(problem)) };
  } finally {
    void look();
  }
}

export async function discard(draft: Draft, reason: string): Promise<void> {
  await client.POST("/api/v1/drafts/{draft_id}/discard", {
    params: { path: { draft_id: draft.id } },
    body: reason.trim() ? { reason: reason.trim() } : {},
  });
  acknowledge(draft.id, "declined");
  void look();
}

export async function discardAll(drafts: Draft[], reason: string): Promise<string> {
  const { data } = await client.POST("/api/v1/drafts/discard", {
    body: {
      draft_ids: drafts.map((one) => one.id),
      ...(reason.trim() ? { reason: reason.trim() } : {}),
    },
  });
  const { results } = data!;
  const done = results.filter((one) => one.status === "discarded");
  for (const one of done) acknowledge(one.draft_id, "declined");
  void look();
  const failed = results.find((one) => one.status === "failed");
  return t.inbox.ofWereDiscarded(
    done.length,
    results.length,
    failed ? t.inbox.firstOneNotDiscarded(detailOf(failed.error)) : "",
  );
}

export async function redraft(draft: Draft): Promise<string> {
  const { data } = await client.POST("/api/v1/drafts/{draft_id}/redraft", {
    params: { path: { draft_id: draft.id } },
    body: {},
  });
  await look();
  return data!.draft_id;
}

export async function answerQuestion(
  question: Question,
  decision: Decision,
  answer?: unknown,
): Promise<void> {
  await client.POST("/api/v1/approvals/{approval_id}/answer", {
    params: { path: { approval_id: question.approval_id } },
    body: { decision, ...(answer === undefined ? {} : { answer }) },
  });
  acknowledge(question.approval_id, decision);
  void look();
}

export async function answerConsent(
  consent: Consent,
  agree: boolean,
  activate: boolean,
): Promise<string> {
  const { data } = await client.POST("/api/v1/consents/{consent_id}/answer", {
    params: { path: { consent_id: consent.consent_id } },
    body: { digest: consent.digest, agree, activate: agree && activate },
  });
  void look();
  void refresh("/api/v1/automations");
  return data!.says;
}
