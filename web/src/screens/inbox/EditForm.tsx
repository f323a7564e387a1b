// The editable fields of a draft, with a diff. Saving sends nothing: the new revision has its own
// hash and waits for approval.

import { Alert, Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { useMemo, useState } from "react";
import { client } from "../../api/client";
import { byPointer, Problem } from "../../api/problem";
import { ProblemNote } from "../../kit/QueryResult";
import { capitalize, humanize } from "../../kit/format";
import { fieldsOf } from "../../previews/shape";
import { look } from "./answers";
import { RevisionDiff } from "./RevisionDiff";
import { type Change, changesOf, differences, editsOf, writtenOf } from "./edits";
import type { Draft } from "./items";
import { t } from "../../strings";

type Props = {
  draft: Draft;
  /** The hash is that of the new revision. */
  onKept: (hash: string) => void;
  onLeave: () => void;
};

const MULTILINE = new Set(["text", "body", "html", "content", "description", "message"]);

export function EditForm({ draft, onKept, onLeave }: Props) {
  // The edit is based on the revision that was shown when it began; a newer one is shown, and is
  // not overwritten.
  const [base, setBase] = useState(draft);
  const [written, setWritten] = useState(() => writtenOf(draft));
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const changes = useMemo(() => changesIn(base, written), [base, written]);
  const overtaken = draft.hash !== base.hash;
  const begin = () => {
    setBase(draft);
    setWritten({ ...writtenOf(draft), ...changedOnly(base, written) });
    setProblem(null);
  };
  const keep = async () => {
    if (!changes?.length || overtaken) return;
    setBusy(true);
    setProblem(null);
    try {
      const { data } = await client.POST("/api/v1/drafts/{draft_id}/edit", {
        params: { path: { draft_id: draft.id } },
        body: { edits: editsOf(changes) as never, ...(base.hash ? { hash: base.hash } : {}) },
      });
      await look();
      onKept(data!.hash);
    } catch (refusal) {
      setProblem(refusal);
      void look();
    } finally {
      setBusy(false);
    }
  };
  const found = problem instanceof Problem ? byPointer(problem.findings) : {};
  return (
    <form
      aria-label={t.inbox.newText}
      onSubmit={(event) => {
        event.preventDefault();
        void keep();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onLeave();
      }}
    >
      <Stack gap="sm">
        {overtaken ? <RevisionConflict before={base} now={draft} begin={begin} /> : null}
        {draft.editable.map((name, at) => (
          <Textarea
            key={name}
            label={capitalize(humanize(name))}
            value={written[name] ?? ""}
            onChange={(event) => {
              const text = event.currentTarget.value;
              setWritten((before) => ({ ...before, [name]: text }));
            }}
            error={found[`/${name}`] ?? found[`/edits/${name}`] ??
              found[`/${draft.within}/${name}`]}
            autosize
            minRows={MULTILINE.has(name) && written[name] ? 4 : 1}
            maxRows={18}
            data-autofocus={at === 0 || undefined}
            autoFocus={at === 0}
            dir="auto"
          />
        ))}
        <Difference changes={changes} />
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group gap="xs" className="answer-bar">
          <Button type="submit" loading={busy} disabled={!changes?.length || overtaken}>
            {t.inbox.saveText}
          </Button>
          <Button variant="default" onClick={onLeave}>{t.inbox.cancel}</Button>
        </Group>
        <Text size="xs" c="dimmed">{t.inbox.savingSendsNothingYouSee}</Text>
      </Stack>
    </form>
  );
}

function Difference({ changes }: { changes: Change[] | null }) {
  if (!changes) {
    return <Text size="sm" c="var(--bad)">{t.inbox.aFieldIsNotValid}</Text>;
  }
  if (!changes.length) return <Text size="sm" c="dimmed">{t.inbox.noChangesYet}</Text>;
  return <RevisionDiff changes={changes} />;
}

function RevisionConflict(
  { before, now, begin }: { before: Draft; now: Draft; begin: () => void },
) {
  return (
    <Alert color="yellow" title={t.inbox.someoneChangedItWhileYou} role="alert">
      <Stack gap="sm">
        <RevisionDiff changes={differences(before, now)} />
        <Text size="sm">{t.inbox.yourTextIsStillHere}</Text>
        <Group>
          <Button size="compact-sm" variant="default" onClick={begin}>
            {t.inbox.saveMineOverTheirs}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

function changesIn(base: Draft, written: Record<string, string>): Change[] | null {
  try {
    return changesOf(fieldsOf(base), written);
  } catch {
    return null;
  }
}

const changedOnly = (base: Draft, written: Record<string, string>) => {
  const before = writtenOf(base);
  return Object.fromEntries(
    Object.entries(written).filter(([name, text]) => text !== before[name]),
  );
};
