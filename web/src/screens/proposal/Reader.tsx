// The screen of a proposal: read, answer, edit, and agree.

import { Box, Stack, Text, Title } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { DefinitionEditor, focusPointer, type Samples } from "../../form";
import { setAt } from "../../form/pointers";
import { ChangePart, RehearsalPanel, ReviewPanel } from "../../review";
import { type Definition, type Proposal, reviewNotes } from "../../review/reviewText";
import { useLatestSamples } from "../edit/samples";
import { knownZone } from "../new/usePropose";
import { MadeBy } from "./MadeBy";
import { Notices } from "./Notices";
import { Questions } from "./Questions";
import { SaveBar } from "./SaveBar";
import { Summary } from "./Summary";
import { Conversation } from "./Conversation";
import { type Page, useProposalPage } from "./useProposalPage";
import "./proposal.css";
import { t } from "../../strings";

const NO_SAMPLES: Samples = { steps: {} };

function Clarified({ page }: { page: Page }) {
  const { proposal, draft, refused, busy, may, parked, tell, goOn } = page;
  if (!proposal.questions.length) return null;
  return (
    <Questions
      questions={proposal.questions}
      givens={draft.givens}
      zone={knownZone()}
      definition={proposal.definition}
      errors={refused.answers}
      busy={busy === "answers"}
      disabled={!may || !!busy || parked}
      onGiven={(id, given) => tell({ kind: "given", id, given })}
      onAnswer={() => void goOn("answers")}
      go={focusPointer}
    />
  );
}

function Rehearsed({ page }: { page: Page }) {
  const { proposal, may, changed } = page;
  if (!may || !proposal.automation_id) return null;
  const unsent = changed ? t.proposal.reviewYourChangesFirstThen : null;
  const ready = proposal.status === "ready";
  return (
    <RehearsalPanel
      key={proposal.digest}
      automationId={proposal.automation_id}
      candidate={{ proposal_id: proposal.proposal_id }}
      hasFired={!!proposal.rehearsal}
      notYet={ready ? unsent : t.proposal.youCanRehearseItWhen}
    />
  );
}

function ConversationPart({ page }: { page: Page }) {
  const { proposal, draft, refused, busy, may, parked, broken, tell, goOn } = page;
  if (!may) return null;
  return (
    <Conversation
      proposal={proposal}
      text={draft.instruction}
      error={refused.instruction}
      busy={busy === "words"}
      disabled={!!busy || parked || !!broken}
      onText={(text) => tell({ kind: "instruction", text })}
      onSend={() => void goOn("words")}
    />
  );
}

function DefinitionPart({ page }: { page: Page }) {
  const { proposal, draft, findings, base, may, busy, parked, tell, setBroken } = page;
  // A change of an automation that has run uses its real outputs as samples.
  const samples = useLatestSamples(proposal.automation_id);
  return (
    <Box component="section" aria-label={t.proposal.definition}>
      <Title order={2} size="h4">{t.proposal.fullDefinitionEditable}</Title>
      <Text size="sm" c="dimmed" mb="md">{t.proposal.openAStepToSee}</Text>
      <DefinitionEditor
        value={draft.definition}
        onChange={(definition) => tell({ kind: "definition", definition })}
        onBroken={setBroken}
        findings={findings}
        samples={samples ?? NO_SAMPLES}
        folded
        readOnly={!may || !!busy || parked}
        compareWith={base}
      />
    </Box>
  );
}

function Bar({ page }: { page: Page }) {
  const { proposal, blocker, busy, changed, broken, conditions, refused, goOn, throwAway } = page;
  return (
    <SaveBar
      {...{ proposal, blocker, busy, conditions, lastResult: page.lastResult }}
      {...{ canReview: page.canReview, canSave: page.canSave, noteError: refused.note }}
      changed={changed > 0 || !!broken}
      onReview={() => void goOn("edits")}
      onSave={page.save}
      onDiscard={() => void throwAway()}
    />
  );
}

export function Reader({ latest }: { latest: Proposal }) {
  const page = useProposalPage(latest);
  const { proposal, may, canReview, canSave, goOn, save, base, draft, busy, parked, tell } = page;
  const { review } = proposal;
  useHotkeys([["mod+S", () => canReview ? void goOn("edits") : canSave ? save() : null]], [], true);
  return (
    <>
      <Notices page={page} />
      <div className="reading">
        <Stack gap="lg">
          <Summary proposal={proposal} />
          <Clarified page={page} />
          {review.change
            ? (
              <ChangePart
                change={review.change}
                grants={review.impact?.grants ?? []}
                before={base}
                after={proposal.definition}
                baseVersion={proposal.base_version}
              />
            )
            : null}
          <Rehearsed page={page} />
        </Stack>
        <aside aria-label={t.proposal.review} className="reading-side">
          <Stack gap="sm">
            <ReviewPanel
              review={review}
              definition={proposal.definition}
              noted={reviewNotes(proposal)}
              go={focusPointer}
              draft={draft.definition}
              choose={may && !busy && !parked
                ? (pointer, value) =>
                  tell({
                    kind: "definition",
                    definition: setAt(draft.definition, pointer, value) as Definition,
                  })
                : undefined}
              unsigned
            />
            <MadeBy proposal={proposal} />
          </Stack>
        </aside>
        <Stack gap="lg">
          <ConversationPart page={page} />
          <DefinitionPart page={page} />
        </Stack>
      </div>
      {may ? <Bar page={page} /> : null}
    </>
  );
}
