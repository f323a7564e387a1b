// One draft: its preview, its origin, and the possible answers.

import { Alert, Badge, Button, Group, Kbd, Stack, Text, Title } from "@mantine/core";
import { Check, Pencil, Trash2, Undo2 } from "lucide-react";
import { useRef, useState } from "react";
import { useHasRole, useSession } from "../../api/session";
import { notifyDone } from "../../kit/useAction";
import { escapeInvisible } from "../../kit/format";
import { DraftPreview } from "../../previews/DraftPreview";
import { confirm, discard } from "./answers";
import { ItemOutcome } from "./ItemOutcome";
import { useKeyActions } from "./keyActions";
import { DiscardForm } from "./DiscardForm";
import { EditForm } from "./EditForm";
import { RevisionDiff } from "./RevisionDiff";
import { differences } from "./edits";
import { ExactBytes } from "./ExactBytes";
import { approve, undo, useSecondsLeft } from "./ApprovalUndo";
import { type DelayedApproval, describeRejection, useDelayedApprovals } from "./delayedApprovals";
import type { Draft } from "./items";
import { Origin } from "./Origin";
import type { Shown } from "./readDrafts";
import { t } from "../../strings";

type Props = {
  draft: Draft;
  /** Called after this item was answered. */
  onAnswered: () => void;
  /** Inside a batch: the batch handles keys and the header, and is notified of what was read. */
  inBatch?: { isNew: boolean; read: (shown: Shown) => void };
};

/** A separate pane for each draft: unsent input does not carry over. */
export function DraftPane(props: Props) {
  return <Pane key={props.draft.id} {...props} />;
}

function Pane({ draft, onAnswered, inBatch: batch }: Props) {
  const inBatch = batch !== undefined;
  const place = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(draft);
  const [ownHash, setOwnHash] = useState<string | null>(null);
  const [editing, setEditing] = useState(false);
  const delayed = useDelayedApprovals();
  const held = delayed.find((one) => one.state !== "finished" && one.drafts.includes(draft.id));
  const waits = draft.status === "pending";
  // A revision that arrived while the draft was open must be read before it can be approved.
  const changed = waits && !editing && draft.hash !== seen.hash;
  const own = changed && draft.hash === ownHash;
  const refused = waits && !held ? describeRejection(draft, delayed) : null;
  // Keyboard users continue at the draft, not at the top of the page.
  const leave = () => {
    setEditing(false);
    place.current?.focus();
  };
  const kept = (hash: string) => {
    setOwnHash(hash);
    batch?.read({ id: draft.id, hash });
    leave();
  };
  const read = () => {
    setSeen(draft);
    batch?.read(draft);
  };
  return (
    <Stack gap="md" ref={place} tabIndex={-1}>
      <Head draft={draft} inBatch={inBatch} />
      {changed ? <RevisionNote before={seen} now={draft} own={own} read={read} /> : null}
      {batch?.isNew && !changed ? <OriginLine read={read} /> : null}
      {held ? <SendingNote held={held} /> : null}
      {editing
        ? <EditForm draft={draft} onKept={kept} onLeave={leave} />
        : <DraftPreview draft={draft} />}
      {inBatch ? null : <Origin draft={draft} />}
      <ExactBytes draft={draft} />
      {refused
        ? (
          <Alert color="red" title={t.inbox.couldNotBeSent2} className="wrap-anywhere">
            {escapeInvisible(refused)}
          </Alert>
        )
        : null}
      {waits
        ? (
          <Answers
            draft={draft}
            blocked={(changed && !own) || batch?.isNew === true}
            hidden={editing || held !== undefined}
            inBatch={inBatch}
            onEdit={() => setEditing(true)}
            onAnswered={onAnswered}
          />
        )
        : <ItemOutcome draft={draft} />}
    </Stack>
  );
}

function Head({ draft, inBatch }: { draft: Draft; inBatch: boolean }) {
  const edited = draft.revision > 1
    ? (
      <Badge variant="light" color="yellow" tt="none" radius="sm">
        {t.inbox.editedRevision(draft.revision)}
      </Badge>
    )
    : null;
  return (
    <Group gap="xs" align="flex-start">
      <Title
        order={inBatch ? 3 : 2}
        size={inBatch ? "sm" : "h5"}
        lineClamp={2}
        title={escapeInvisible(draft.preview)}
        className="wrap-anywhere"
        style={{ flex: "1 1 16rem" }}
      >
        {escapeInvisible(draft.preview)}
      </Title>
      {edited}
    </Group>
  );
}

type RevisionNoteProps = { before: Draft; now: Draft; own: boolean; read: () => void };

function RevisionNote({ before, now, own, read }: RevisionNoteProps) {
  return (
    <Alert
      color={own ? "teal" : "yellow"}
      title={own ? t.inbox.currentText : t.inbox.theTextChangedWhileYou}
      role="status"
    >
      <Stack gap="sm">
        <RevisionDiff changes={differences(before, now)} />
        <Group>
          <Button size="compact-sm" variant="default" onClick={read}>
            {own ? t.inbox.hideTheDifference : t.inbox.iHaveReadIt}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

function OriginLine({ read }: { read: () => void }) {
  return (
    <Alert color="yellow" title={t.inbox.thisDraftArrivedWhileYou} role="status">
      <Button size="compact-sm" variant="default" onClick={read}>{t.inbox.iHaveReadIt}</Button>
    </Alert>
  );
}

export function SendingNote({ held }: { held: DelayedApproval }) {
  const left = useSecondsLeft(held);
  const isHeld = held.state === "held";
  return (
    <Alert color="teal" role="status">
      <Group justify="space-between">
        <Text size="sm" className="numbers">
          {isHeld ? t.inbox.approvedItIsSentIn(left) : t.inbox.sendingTheResultAppearsIn}
        </Text>
        {isHeld
          ? (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<Undo2 size={14} />}
              onClick={() => undo(held.id)}
            >
              {t.inbox.undo} <Kbd ml={6} size="xs">U</Kbd>
            </Button>
          )
          : null}
      </Group>
    </Alert>
  );
}

type AnswersProps = {
  draft: Draft;
  blocked: boolean;
  hidden: boolean;
  inBatch: boolean;
  onEdit: () => void;
  onAnswered: () => void;
};

function Answers({ draft, blocked, hidden, inBatch, onEdit, onAnswered }: AnswersProps) {
  const may = useHasRole("operator");
  const who = useSession();
  const [discarding, setDiscarding] = useState(false);
  const mayEdit = may && draft.editable.length > 0;
  const agree = () => {
    if (blocked || hidden) return;
    const { id, preview: title } = draft;
    if (approve({ id, drafts: [id], title, send: () => confirm(draft) })) onAnswered();
  };
  useKeyActions(
    inBatch || !may ? null : {
      approve: agree,
      edit: mayEdit && !hidden ? onEdit : undefined,
      discard: hidden ? undefined : () => setDiscarding(true),
    },
  );
  if (!may) {
    return <Text size="sm" c="dimmed">{t.inbox.yourRoleCanOnlyView(who.role)}</Text>;
  }
  if (hidden) return null;
  const size = inBatch ? "compact-sm" : "sm";
  const key = (letter: string) =>
    inBatch ? null : <Kbd size="xs" ml={6} visibleFrom="sm">{letter}</Kbd>;
  return (
    <Group gap="xs" className={inBatch ? undefined : "answer-bar"}>
      <Button
        size={size}
        variant={inBatch ? "default" : "filled"}
        leftSection={<Check size={15} />}
        onClick={agree}
        disabled={blocked}
      >
        {t.inbox.approve(inBatch ? t.inbox.thisOne : key("A"))}
      </Button>
      {mayEdit
        ? (
          <Button
            size={size}
            variant="default"
            leftSection={<Pencil size={14} />}
            onClick={onEdit}
          >
            {t.inbox.edit(key("E"))}
          </Button>
        )
        : null}
      <Button
        size={size}
        variant="default"
        leftSection={<Trash2 size={14} />}
        onClick={() => setDiscarding(true)}
      >
        {t.inbox.discard2(key("D"))}
      </Button>
      <DiscardForm
        opened={discarding}
        onClose={() => setDiscarding(false)}
        title={t.inbox.discardThisDraft}
        text={draft.preview}
        work={async (reason) => {
          await discard(draft, reason);
          notifyDone(t.inbox.discardedNothingWasSent);
          onAnswered();
        }}
      />
    </Group>
  );
}
