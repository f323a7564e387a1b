// The drafts of one agent turn: listed together and answered as a set.

import { Alert, Button, Card, Group, Kbd, Stack, Text, Title } from "@mantine/core";
import { CheckCheck, Trash2 } from "lucide-react";
import { useState } from "react";
import { useHasRole, useSession } from "../../api/session";
import { notifyDone } from "../../kit/useAction";
import { confirmAll, discardAll, MOST_AT_ONCE } from "./answers";
import { useKeyActions } from "./keyActions";
import { DiscardForm } from "./DiscardForm";
import { DraftPane, SendingNote } from "./DraftPane";
import { approve } from "./ApprovalUndo";
import { useDelayedApprovals } from "./delayedApprovals";
import type { Draft } from "./items";
import { Origin } from "./Origin";
import { describeUnread, type ReadDrafts, seenOf, unreadOf, withRead } from "./readDrafts";
import { t } from "../../strings";

type Props = { id: string; drafts: Draft[]; onAnswered: () => void };

/** A separate pane for each set: read marks do not carry over. */
export function BatchPane(props: Props) {
  return <Pane key={props.id} {...props} />;
}

function Pane({ id, drafts, onAnswered }: Props) {
  const [seen, setSeen] = useState(() => seenOf(drafts));
  return (
    <Stack gap="md">
      <Stack gap={4}>
        <Title order={2} size="h4">{t.inbox.draftsOfOneStep(drafts.length)}</Title>
        <Text size="sm" c="dimmed">{t.inbox.theyWereRequestedTogetherApprove}</Text>
      </Stack>
      {drafts[0] ? <Origin draft={drafts[0]} /> : null}
      <SetAnswers id={id} drafts={drafts} seen={seen} onAnswered={onAnswered} />
      {drafts.map((draft) => (
        <Card key={draft.id} withBorder radius="lg" p={{ base: "sm", sm: "md" }}>
          <DraftPane
            draft={draft}
            onAnswered={() => {}}
            inBatch={{
              isNew: !seen.has(draft.id),
              read: (shown) =>
                setSeen((before) =>
                  withRead(before, shown)
                ),
            }}
          />
        </Card>
      ))}
    </Stack>
  );
}

function SetAnswers({ id, drafts, seen, onAnswered }: Props & { seen: ReadDrafts }) {
  const may = useHasRole("operator");
  const who = useSession();
  const [discarding, setDiscarding] = useState(false);
  const all = useDelayedApprovals();
  const held = all.find((one) => one.state !== "finished" && one.id === id);
  const busy = new Set(all.filter((one) => one.state !== "finished").flatMap((one) => one.drafts));
  const set = drafts.filter((one) => !busy.has(one.id)).slice(0, MOST_AT_ONCE);
  const unread = unreadOf(seen, set).length;
  const agree = () => {
    if (!set.length || unread) return;
    const send = () => confirmAll(set);
    const title = t.counts.drafts(set.length);
    if (approve({ id, drafts: set.map((one) => one.id), title, send })) onAnswered();
  };
  useKeyActions(may ? { approve: agree, discard: () => set.length && setDiscarding(true) } : null);
  if (!may) {
    return <Text size="sm" c="dimmed">{t.inbox.yourRoleCanOnlyView(who.role)}</Text>;
  }
  if (held) return <SendingNote held={held} />;
  return (
    <Group gap="xs">
      {unread
        ? <Alert color="yellow" role="status" w="100%">{describeUnread(unread)}</Alert>
        : null}
      <Button
        leftSection={<CheckCheck size={16} />}
        onClick={agree}
        disabled={!set.length || unread > 0}
      >
        {t.inbox.approveAll(set.length)} <Kbd size="xs" ml={6} visibleFrom="sm">A</Kbd>
      </Button>
      <Button
        variant="default"
        leftSection={<Trash2 size={14} />}
        onClick={() => setDiscarding(true)}
        disabled={!set.length}
      >
        {t.inbox.discardAll(set.length)} <Kbd size="xs" ml={6} visibleFrom="sm">D</Kbd>
      </Button>
      {drafts.length > MOST_AT_ONCE
        ? <Text size="xs" c="dimmed">{t.inbox.upToAreAnsweredAt(MOST_AT_ONCE)}</Text>
        : null}
      <DiscardForm
        opened={discarding}
        onClose={() => setDiscarding(false)}
        title={t.inbox.discardDraft(set.length)}
        text={t.inbox.nothingInThisSetIs}
        work={async (reason) => {
          notifyDone(await discardAll(set, reason));
          onAnswered();
        }}
      />
    </Group>
  );
}
