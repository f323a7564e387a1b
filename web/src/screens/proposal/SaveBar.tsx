// The save bar: what blocks saving, and the save button.

import { Button, Card, Checkbox, Group, Stack, Text, Textarea } from "@mantine/core";
import { Check, CircleAlert, CircleCheck, Loader } from "lucide-react";
import { focusPointer } from "../../form";
import type { Proposal } from "../../review/reviewText";
import { describeSaving } from "./saveBlockers";
import type { Page } from "./useProposalPage";
import { t } from "../../strings";

export type Busy = "answers" | "words" | "edits" | "save" | null;

type Props = {
  proposal: Proposal;
  blocker: string | null;
  busy: Busy;
  changed: boolean;
  canReview: boolean;
  canSave: boolean;
  conditions: Page["conditions"];
  noteError: string | null;
  /** The action that just finished. */
  lastResult: string | null;
  onReview: () => void;
  onSave: () => void;
  onDiscard: () => void;
};

const WORKING: Record<Exclude<Busy, null>, string> = {
  answers: t.proposal.validatingAndReviewing,
  edits: t.proposal.validatingAndReviewing,
  words: t.proposal.rewriting,
  save: t.proposal.saving,
};

function Conditions({ conditions, noteError }: Pick<Props, "conditions" | "noteError">) {
  const { mustAgree, agreed, setAgreed, needsNote, note, setNote } = conditions;
  return (
    <>
      {needsNote
        ? (
          <Textarea
            label={t.proposal.whyIsItNeededIn}
            description={t.proposal.anotherAutomationWritesTheSame}
            value={note}
            onChange={(event) => setNote(event.currentTarget.value)}
            error={noteError}
            maxLength={1000}
            autosize
            minRows={1}
            maxRows={4}
            required
          />
        )
        : null}
      {mustAgree
        ? (
          <Checkbox
            checked={agreed}
            onChange={(event) => setAgreed(event.currentTarget.checked)}
            label={t.proposal.iReviewedTheNewPermissions}
          />
        )
        : null}
    </>
  );
}

/** The first unanswered question, or the first of all. */
function goToQuestions(): void {
  const questions = [...document.querySelectorAll<HTMLElement>("[data-question]")];
  const fields = questions.map((one) => one.querySelector<HTMLElement>("input, textarea"));
  const isEmpty = (at: number) =>
    !questions[at]!.querySelector(":checked") &&
    !(fields[at] instanceof HTMLInputElement && fields[at].type !== "radio" && fields[at].value);
  const at = Math.max(0, questions.findIndex((_, place) => isEmpty(place)));
  questions[at]?.scrollIntoView({ block: "center" });
  fields[at]?.focus({ preventScroll: true });
}

/** A link to what must be done first, from any scroll position. */
function Way({ proposal, changed }: Pick<Props, "proposal" | "changed">) {
  const [problem] = proposal.problems;
  if (changed || (!proposal.questions.length && !problem)) return null;
  const isAsked = proposal.questions.length > 0;
  return (
    <Button
      variant="light"
      onClick={() => isAsked ? goToQuestions() : focusPointer(problem!.pointer)}
    >
      {isAsked ? t.proposal.goToTheQuestions : t.proposal.goToTheProblem}
    </Button>
  );
}

function Sign({ busy, blocker }: Pick<Props, "busy" | "blocker">) {
  const [Icon, color] = busy
    ? [Loader, "var(--quiet)"] as const
    : blocker
    ? [CircleAlert, "var(--busy)"] as const
    : [CircleCheck, "var(--good)"] as const;
  return <Icon size={18} aria-hidden style={{ flex: "none", color }} />;
}

export function SaveBar(props: Props) {
  const { proposal, blocker, busy, changed, canReview, canSave, conditions, noteError } = props;
  const { lastResult, onReview, onSave, onDiscard } = props;
  return (
    <Card
      withBorder
      radius="lg"
      p="md"
      mt="lg"
      shadow="md"
      component="section"
      aria-label={t.proposal.agree}
      style={{ position: "sticky", bottom: 12, zIndex: 50 }}
    >
      <Stack gap="sm">
        <Conditions conditions={conditions} noteError={noteError} />
        <Group justify="space-between" gap="sm">
          <Group gap="xs" wrap="nowrap" style={{ flex: "1 1 14rem" }}>
            <Sign busy={busy} blocker={blocker} />
            <Text size="sm" role="status" id="blocker" tabIndex={-1}>
              {lastResult && !busy && !changed ? `${lastResult} ` : ""}
              {busy ? WORKING[busy] : blocker ?? describeSaving(proposal)}
            </Text>
          </Group>
          <Group gap="xs">
            <Button variant="subtle" color="gray" onClick={onDiscard} disabled={!!busy}>
              {t.proposal.discard}
            </Button>
            <Way proposal={proposal} changed={changed} />
            {changed
              ? (
                <Button
                  onClick={onReview}
                  loading={busy === "edits"}
                  disabled={!canReview}
                >
                  {t.proposal.reviewMyChanges}
                </Button>
              )
              : (
                <Button
                  onClick={onSave}
                  loading={busy === "save"}
                  disabled={!canSave}
                  // On a phone there is only space for buttons.
                  visibleFrom={proposal.questions.length ? "sm" : undefined}
                  leftSection={<Check size={16} />}
                  aria-describedby="blocker"
                >
                  {t.proposal.save}
                </Button>
              )}
          </Group>
        </Group>
      </Stack>
    </Card>
  );
}
