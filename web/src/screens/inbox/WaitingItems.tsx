// The items that wait: the list, the selected item, and keyboard shortcuts.

import { Anchor, List, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Inbox as InboxIcon } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { api } from "../../api/client";
import { Problem } from "../../api/problem";
import { useUrlState } from "../../kit/urlState";
import { ProblemNote, QueryResult } from "../../kit/QueryResult";
import { Empty } from "../../kit/Empty";
import type { useWaitingItems } from "./queries";
import { BatchPane } from "./BatchPane";
import { ConsentPane } from "./ConsentPane";
import { DeedsProvider, type KeyActions } from "./keyActions";
import { DraftPane } from "./DraftPane";
import { FailurePane } from "./FailurePane";
import { approvalQueue, useDelayedApprovals } from "./delayedApprovals";
import { ItemList } from "./ItemList";
import { type Item, itemAfter, itemOf, moveSelection } from "./items";
import { isAnswer, keyAction, READ_MS } from "./keys";
import { Panes } from "./Panes";
import { QuestionPane } from "./QuestionPane";
import { t } from "../../strings";

type Props = {
  query: ReturnType<typeof useWaitingItems>;
  chosen: string | undefined;
  onKeys: () => void;
};

export function WaitingItems({ query: asked, chosen, onKeys }: Props) {
  return (
    <QueryResult of={asked as never} lines={6}>
      {(items: Item[]) => (
        <ItemPanes
          items={items}
          isFresh={asked.isFresh}
          chosen={chosen}
          onKeys={onKeys}
        />
      )}
    </QueryResult>
  );
}

type ItemPanesProps = {
  items: Item[];
  isFresh: boolean;
  chosen: string | undefined;
  onKeys: () => void;
};

function ItemPanes({ items, isFresh, chosen, onKeys }: ItemPanesProps) {
  const [, change] = useUrlState();
  const named = itemOf(items, chosen);
  // Items answered here are about to leave the list, and are not selected again.
  const left = useRef(new Set<string>());
  const first = items.find((one) => !left.current.has(one.id) && !isLeaving(one));
  const item = named ?? (chosen ? undefined : first ?? items[0]);
  const actions = useRef<KeyActions>({});
  const choose = (id: string | undefined) => {
    if (id) left.current.delete(id);
    change({ item: id, draft: undefined });
  };
  const isRead = useRead(item?.id);
  useReturn(choose);
  useKeys({ items, current: item?.id, isRead, choose, actions, onKeys });
  // The first item is selected explicitly: the selection must not change under the user.
  useEffect(() => {
    if (isFresh && !chosen && first && isInSight()) choose(first.id);
  }, [isFresh, chosen, first?.id]);
  if (!items.length && !chosen) return <Nothing />;
  return (
    <DeedsProvider value={actions}>
      <Panes
        isOpen={chosen !== undefined}
        tab={undefined}
        answersKeys={isRead}
        list={
          <ItemList
            items={items}
            chosen={item?.id}
            tab={undefined}
            label={t.inbox.waitingItems}
          />
        }
      >
        {item
          ? (
            <Chosen
              item={item}
              onAnswered={() => {
                left.current.add(item.id);
                choose(named ? itemAfter(items, item.id) : undefined);
              }}
            />
          )
          : <Elsewhere id={chosen!} />}
      </Panes>
    </DeedsProvider>
  );
}

export function Chosen({ item, onAnswered }: { item: Item; onAnswered: () => void }) {
  switch (item.kind) {
    case "draft":
      return <DraftPane draft={item.draft} onAnswered={onAnswered} />;
    case "batch":
      return <BatchPane id={item.id} drafts={item.drafts} onAnswered={onAnswered} />;
    case "question":
      return <QuestionPane question={item.question} onAnswered={onAnswered} />;
    case "consent":
      return <ConsentPane consent={item.consent} onAnswered={onAnswered} />;
    case "failure":
      return <FailurePane failing={item.failing} onAnswered={onAnswered} />;
  }
}

/** A linked draft that no longer waits: its outcome. */
export function Elsewhere({ id }: { id: string }) {
  const draft = api.useQuery("get", "/api/v1/drafts/{draft_id}", {
    params: { path: { draft_id: id } },
  });
  const problem: unknown = draft.error;
  if (problem) {
    return (
      <>
        <Text size="sm" mb="sm">{t.inbox.thisIsNoLongerWaiting}</Text>
        <Anchor component={Link} to="/inbox" size="sm">{t.inbox.showWaitingItems}</Anchor>
        {problem instanceof Problem && problem.status === 404
          ? null
          : <ProblemNote problem={problem} />}
      </>
    );
  }
  return (
    <QueryResult of={draft}>
      {(found) => <DraftPane draft={found} onAnswered={() => {}} />}
    </QueryResult>
  );
}

const isLeaving = (item: Item) =>
  item.kind === "draft"
    ? approvalQueue.of(item.id) !== undefined
    : item.kind === "batch" && item.drafts.every(({ id }) => approvalQueue.of(id));

// On a phone only the list is shown until an item is opened.
const isInSight = () => document.getElementById("chosen")?.checkVisibility() ?? false;

/** Whether the selected item has been visible long enough to be answered by a key. */
function useRead(id: string | undefined): boolean {
  const [read, setRead] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setRead(id), READ_MS);
    return () => {
      clearTimeout(timer);
      setRead(undefined);
    };
  }, [id]);
  return id !== undefined && read === id;
}

/** A cancelled approval is selected again. */
function useReturn(choose: (id: string) => void): void {
  const held = useDelayedApprovals();
  const before = useRef(held);
  useEffect(() => {
    const gone = before.current.find((one) =>
      one.state === "held" && !held.some(({ id }) => id === one.id)
    );
    before.current = held;
    if (gone) choose(gone.id);
  });
}

type Keys = {
  items: Item[];
  current: string | undefined;
  isRead: boolean;
  choose: (id: string | undefined) => void;
  actions: React.RefObject<KeyActions>;
  onKeys: () => void;
};

function useKeys(given: Keys): void {
  const latest = useRef(given);
  useEffect(() => {
    latest.current = given;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const key = keyAction(event);
      const { items, current, isRead, choose, actions, onKeys } = latest.current;
      if (!key || key === "undo" || document.querySelector("[role='dialog']")) return;
      event.preventDefault();
      if (key === "keys") return onKeys();
      if (key === "next" || key === "previous") {
        const id = moveSelection(items, current, key === "next" ? 1 : -1);
        choose(id);
        if (id) {
          document.querySelector(`[data-item="${CSS.escape(id)}"]`)?.scrollIntoView({
            block: "nearest",
          });
        }
        return;
      }
      if (key === "open") {
        choose(current);
        return document.getElementById("chosen")?.focus();
      }
      if (isAnswer(key) && !isRead) return;
      if (isInSight()) actions.current[key]?.();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function Nothing() {
  return (
    <Empty icon={InboxIcon} title={t.inbox.nothingIsWaitingForYou}>
      <Text size="sm" mb="sm">{t.inbox.itemsThatNeedAPerson}</Text>
      <List size="sm" ta="left" spacing={6}>
        <List.Item>{t.inbox.aWhenAnAutomationOr(<b>{t.inbox.draft2}</b>)}</List.Item>
        <List.Item>{t.inbox.aWhenAPlanAsks(<b>{t.inbox.question2}</b>)}</List.Item>
        <List.Item>{t.inbox.aWhenAProgramCreates(<b>{t.inbox.consentRequest}</b>)}</List.Item>
        <List.Item>{t.inbox.aThatNobodyHasAcknowledged(<b>{t.inbox.failure2}</b>)}</List.Item>
      </List>
      <Text size="sm" mt="sm">
        {t.inbox.connectTheAccountsTheyUse(
          <Anchor component={Link} to="/integrations" size="sm">{t.inbox.integrations}</Anchor>,
        )}
      </Text>
    </Empty>
  );
}
