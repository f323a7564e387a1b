// The bar below: what stands between a person and saving, and the press without which nothing is saved.

import { Button, Card, Checkbox, Group, Stack, Text, Textarea } from "@mantine/core";
import { Check } from "lucide-react";
import type { Proposal } from "../../review/reading";
import { savingWords } from "./standing";
import type { Page } from "./usePage";

export type Busy = "answers" | "words" | "edits" | "save" | null;

type Props = {
  proposal: Proposal;
  stands: string | null;
  busy: Busy;
  changed: boolean;
  canReview: boolean;
  canSave: boolean;
  conditions: Page["conditions"];
  noteError: string | null;
  /** What has just been done. */
  told: string | null;
  onReview: () => void;
  onSave: () => void;
  onDiscard: () => void;
};

const WORKING: Record<Exclude<Busy, null>, string> = {
  answers: "Judging and reviewing it anew …",
  edits: "Judging and reviewing it anew …",
  words: "Writing it anew …",
  save: "Saving …",
};

function Conditions({ conditions, noteError }: Pick<Props, "conditions" | "noteError">) {
  const { mustAgree, agreed, setAgreed, needsNote, note, setNote } = conditions;
  return (
    <>
      {needsNote
        ? (
          <Textarea
            label="Why may it live beside the others?"
            description="Another automation writes the same. It is only saved with a reason, of ten characters or more."
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
            label="I have read what it may do then, and it may."
          />
        )
        : null}
    </>
  );
}

export function SaveBar(props: Props) {
  const { proposal, stands, busy, changed, canReview, canSave, conditions, noteError } = props;
  const { told, onReview, onSave, onDiscard } = props;
  return (
    <Card
      withBorder
      radius="lg"
      p="md"
      mt="lg"
      shadow="md"
      component="section"
      aria-label="Agree"
      style={{ position: "sticky", bottom: 12, zIndex: 50 }}
    >
      <Stack gap="sm">
        <Conditions conditions={conditions} noteError={noteError} />
        <Group justify="space-between" gap="sm">
          <Text
            size="sm"
            role="status"
            id="stands"
            tabIndex={-1}
            style={{ flex: "1 1 14rem" }}
          >
            {told && !busy && !changed ? `${told} ` : ""}
            {busy ? WORKING[busy] : stands ?? savingWords(proposal)}
          </Text>
          <Group gap="xs">
            <Button variant="subtle" color="gray" onClick={onDiscard} disabled={!!busy}>
              Throw away
            </Button>
            {changed
              ? (
                <Button
                  onClick={onReview}
                  loading={busy === "edits"}
                  disabled={!canReview}
                >
                  Review my changes
                </Button>
              )
              : (
                <Button
                  onClick={onSave}
                  loading={busy === "save"}
                  disabled={!canSave}
                  leftSection={<Check size={16} />}
                  aria-describedby="stands"
                >
                  Save
                </Button>
              )}
          </Group>
        </Group>
      </Stack>
    </Card>
  );
}
