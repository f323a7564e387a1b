// The editor: the form, its validation, and saving a version.

import { Alert, Anchor, Button, Code, Group, Stack, Text } from "@mantine/core";
import { Link, type ShouldBlockFn, useBlocker, useNavigate } from "@tanstack/react-router";
import { History } from "lucide-react";
import { useCallback, useMemo, useRef, useState } from "react";
import type { Schemas } from "../../api/client";
import { Problem } from "../../api/problem";
import { useHasRole } from "../../api/session";
import { DefinitionEditor, type Finding, type Samples } from "../../form";
import { setAt } from "../../form/pointers";
import type { Json } from "../../form/values";
import { useUrlState } from "../../kit/urlState";
import { useConfirm } from "../../kit/Confirm";
import { PageHead } from "../../kit/PageHead";
import { Actions, Judgement } from "./Actions";
import { useDraft } from "./draft";
import { ClashNote, RefusedNote, SavedNote } from "./Outcome";
import { flagsOf, Review, useReview } from "./Review";
import { useSaving } from "./useSaving";
import { useValidation } from "./useValidation";
import { t } from "../../strings";

type Props = {
  automation?: Schemas["AutomationDetail"];
  start: unknown;
  samples?: Samples;
  from?: { run: string; version: number };
  kind?: "json" | "script";
  /** Numbers that a browser would change: with any of them the editor is read-only. */
  lost?: readonly string[];
};
const NONE: readonly string[] = [];

function useUnsavedWarning(isDirty: boolean) {
  const confirm = useConfirm();
  const asks = useCallback<ShouldBlockFn>(async ({ current, next }) => {
    if (current.pathname === next.pathname) return false;
    return !(await confirm({
      title: t.edit.leaveWithoutSaving,
      message: t.edit.yourChangesAreKeptIn,
      yes: t.edit.leave,
    }));
  }, [confirm]);
  useBlocker({
    shouldBlockFn: asks,
    enableBeforeUnload: false,
    disabled: !isDirty,
  });
}

function refusals(problem: unknown): Finding[] {
  if (!(problem instanceof Problem) || problem.status !== 422) return [];
  return problem.findings.map((one) => ({
    pointer: one.pointer,
    detail: one.detail,
    level: "error",
    suggestion: one.suggestion,
  }));
}

export function EditorPane({ automation, start, samples, from, kind, lost = NONE }: Props) {
  const [{ at }] = useUrlState();
  const key = `edit.${automation?.id ?? `new-${kind}`}${from ? `.${from.run}` : ""}`;
  const inForce = automation?.definition;
  const draft = useDraft(key, start);
  const [version, setVersion] = useState(automation?.version ?? 0);
  const [compared, setCompared] = useState<unknown>(inForce ?? undefined);
  const [broken, setBroken] = useState<string | null>(null);
  const may = useHasRole("editor");
  const [rounded] = useState(lost);
  const verdict = useValidation(draft.definition);
  const review = useReview(automation?.id);
  const saving = useSaving(automation?.id);
  const isDirty = draft.isDirty || from !== undefined || !automation;
  useUnsavedWarning(draft.isDirty && !saving.busy);
  const findings = useMemo(() => {
    const serverFindings = verdict.state === "asking"
      ? [...verdict.findings, ...refusals(saving.problem)]
      : verdict.findings;
    return [...serverFindings, ...flagsOf(review.result)];
  }, [verdict, review.result, saving.problem]);
  const navigate = useNavigate();
  const save = async (on = version) => {
    const written = draft.definition;
    const made = await saving.save(written as Json, on);
    if (!made) return;
    draft.settle(written);
    setVersion(made.version);
    setCompared(written);
    if (!automation) {
      void navigate({ to: "/automations/$automationId", params: { automationId: made.id } });
    }
  };
  // A stable reference, so that the surroundings of the form do not rerender on every key press.
  const live = useRef({ save, definition: draft.definition, set: draft.setDefinition });
  live.current = { save, definition: draft.definition, set: draft.setDefinition };
  const saveNow = useCallback(() => void live.current.save(), []);
  const current = useCallback(() => live.current.definition, []);
  const choose = useCallback((pointer: string, value: unknown) => {
    const { definition, set } = live.current;
    set(setAt(definition, pointer, value) as typeof definition);
  }, []);
  const title = automation
    ? t.edit.edit(automation.name)
    : kind === "script"
    ? t.edit.newScript
    : t.edit.newAutomation;
  return (
    <>
      <PageHead
        title={title}
        back={automation
          ? { to: `/automations/${automation.id}`, label: automation.name }
          : { to: "/new", label: t.edit.new }}
        sub={automation
          ? t.edit.versionIsActiveSavingCreates(version)
          : t.edit.itIsSavedPausedNothing}
        right={rounded.length ? null : (
          <Actions
            automation={automation}
            current={current}
            isDirty={isDirty}
            verdict={verdict}
            broken={broken}
            compared={compared}
            busy={saving.busy}
            onSave={saveNow}
          />
        )}
      />
      <div className="editor-layout">
        <Stack gap="md">
          <InexactNumbersNote numbers={rounded} />
          <DraftNote draft={draft} from={from} />
          {saving.saved && !draft.isDirty ? <SavedNote saved={saving.saved} /> : null}
          {saving.clash
            ? (
              <ClashNote
                clash={saving.clash}
                base={compared}
                onBuildOn={(on, definition) => {
                  setVersion(on);
                  setCompared(definition);
                  void save(on);
                }}
              />
            )
            : null}
          {saving.problem && !saving.clash
            ? (
              <RefusedNote
                problem={saving.problem}
                findings={refusals(saving.problem).length}
              />
            )
            : null}
          <DefinitionEditor
            value={draft.definition}
            onChange={draft.setDefinition}
            findings={findings}
            samples={samples}
            readOnly={!may || rounded.length > 0}
            compareWith={compared}
            onBroken={setBroken}
            startAt={at}
          />
        </Stack>
        <Stack gap="md" className="editor-aside">
          <Judgement verdict={verdict} broken={broken} />
          <Review
            review={review}
            definition={verdict.of}
            current={current}
            choose={may && !rounded.length ? choose : undefined}
          />
        </Stack>
      </div>
    </>
  );
}

function InexactNumbersNote({ numbers }: { numbers: readonly string[] }) {
  if (!numbers.length) return null;
  return (
    <Alert color="yellow" variant="light" title={t.edit.readOnlyHere}>
      {t.edit.aBrowserCannotRepresentThis(
        numbers.length,
        numbers.slice(0, 4).join(", "),
        numbers.length > 4 ? " …" : "",
        <Code>mainspring save</Code>,
      )}
    </Alert>
  );
}

function DraftNote({ draft, from }: { draft: ReturnType<typeof useDraft>; from: Props["from"] }) {
  return (
    <>
      {draft.wasKept && draft.isDirty
        ? (
          <Alert color="gray" variant="light" icon={<History size={16} />}>
            <Group justify="space-between" gap="sm">
              <Text size="sm">{t.edit.yourUnsavedChangesAreRestored}</Text>
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => draft.setDefinition(draft.base)}
              >
                {t.edit.discardThem}
              </Button>
            </Group>
          </Alert>
        )
        : null}
      {from
        ? (
          <Alert color="gray" variant="light">
            <Text size="sm">
              {t.edit.thisIsVersionAsUsed(
                from.version,
                <Anchor component={Link} to={`/runs/${from.run}`} size="sm">
                  {t.edit.thatRun}
                </Anchor>,
              )}
            </Text>
          </Alert>
        )
        : null}
    </>
  );
}
