// Continuing a proposal: answers, edits and text are sent together, and rejected input is kept.
// Saving saves exactly what was read.

import { useNavigate } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { Problem } from "../../api/problem";
import { notifyProblem } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import type { Edit } from "../../review/edits";
import { knownZone } from "../new/usePropose";
import { collectAnswers } from "./answers";
import { discard, keepProposal, lookAgain, refine, save } from "./requests";
import { type Draft, type DraftAction, requestOf } from "./draft";
import { type DistributedErrors, distributeErrors, isMoved, NOTHING } from "./errors";
import type { Busy } from "./SaveBar";
import { forgetDraft } from "./useDraft";
import { t } from "../../strings";

type Way = Exclude<Busy, null | "save">;

export function useContinue(draft: Draft, edits: Edit[], dispatch: (answer: DraftAction) => void) {
  const id = draft.held.proposal_id;
  const [busy, setBusy] = useState<Busy>(null);
  const [refused, setRefused] = useState<DistributedErrors>(NOTHING);
  const [overlaps, setOverlaps] = useState(false);
  const [lastResult, setLastResult] = useState<string | null>(null);
  const navigate = useNavigate();
  const confirm = useConfirm();

  const work = useCallback(
    async (way: Exclude<Busy, null>, sent: Edit[], doIt: () => Promise<void>) => {
      setBusy(way);
      setLastResult(null);
      setRefused(NOTHING);
      try {
        await doIt();
        return true;
      } catch (problem) {
        if (problem instanceof Problem && problem.code === "overlap") setOverlaps(true);
        setRefused(distributeErrors(problem, sent));
        if (isMoved(problem)) keepProposal(await lookAgain(id));
        return false;
      } finally {
        setBusy(null);
      }
    },
    [id],
  );

  const goOn = (way: Way) =>
    work(way, edits, async () => {
      const answers = collectAnswers(draft.held.questions, draft.givens, knownZone());
      const instruction = way === "words" ? draft.instruction.trim() : "";
      const fresh = await refine(id, {
        ...requestOf(draft, edits),
        ...(Object.keys(answers).length ? { answers } : {}),
        ...(instruction ? { instruction } : {}),
      });
      dispatch({ kind: "sent", proposal: fresh, withWords: way === "words" });
      keepProposal(fresh);
      setLastResult(describeResult(way, fresh.questions.length));
      holdFocus();
    });

  const saveIt = (note?: string) =>
    work("save", [], async () => {
      await save(id, draft.held.digest, note);
      forgetDraft(id);
      keepProposal(await lookAgain(id));
      scrollTo({ top: 0 });
    });

  const throwAway = async () => {
    const question = {
      title: t.proposal.discardThisProposal,
      message: t.proposal.nothingWasSaved,
    };
    if (!(await confirm({ ...question, yes: t.proposal.discard, dangerous: true }))) return;
    try {
      await discard(id);
      forgetDraft(id);
      await navigate({ to: "/new" });
    } catch (problem) {
      notifyProblem(problem);
    }
  };
  return { busy, refused, overlaps, lastResult, goOn, saveIt, throwAway };
}

/** The focused element may be gone with its question; keyboard users continue at the save bar. */
function holdFocus(): void {
  setTimeout(() => {
    if (document.activeElement === document.body) document.getElementById("blocker")?.focus();
  });
}

function describeResult(way: Way, open: number): string {
  if (way === "words") return t.proposal.itWasChangedReviewIt;
  if (way === "edits") return t.proposal.yourChangesAreApplied;
  return open ? t.proposal.thanksThereAreMoreQuestions : t.proposal.thanksAllQuestionsAreAnswered;
}
