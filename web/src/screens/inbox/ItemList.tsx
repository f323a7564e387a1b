// The list on the left: title, age and state of each item.

import { Badge, Card, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  FileQuestion,
  Layers,
  type LucideIcon,
  MailOpen,
  ShieldQuestion,
  TriangleAlert,
} from "lucide-react";
import { Timestamp } from "../../kit/Timestamp";
import { escapeInvisible } from "../../kit/format";
import { type DelayedApproval, describeRejection, useDelayedApprovals } from "./delayedApprovals";
import { useSecondsLeft } from "./ApprovalUndo";
import { answeredBadge, type Draft, type Item, KIND_LABELS, nameOf, titleOf } from "./items";
import { t } from "../../strings";

const ICONS: Record<Item["kind"], LucideIcon> = {
  draft: MailOpen,
  batch: Layers,
  question: FileQuestion,
  consent: ShieldQuestion,
  failure: TriangleAlert,
};

type Props = {
  items: Item[];
  chosen: string | undefined;
  tab: string | undefined;
  label: string;
};

export function ItemList({ items, chosen, tab, label }: Props) {
  const held = useDelayedApprovals();
  return (
    <Card withBorder radius="lg" p={0} className="list" component="nav" aria-label={label}>
      {items.map((item) => (
        <Row
          key={item.id}
          item={item}
          tab={tab}
          isChosen={item.id === chosen}
          from={nameOf(item)}
          held={held.find((one) =>
            one.state !== "finished" && draftsOf(item).some(({ id }) => one.drafts.includes(id))
          )}
          isRefused={draftsOf(item).some((one) =>
            one.status === "pending" && describeRejection(one, held) !== null
          )}
        />
      ))}
    </Card>
  );
}

const draftsOf = (item: Item): Draft[] =>
  item.kind === "batch" ? item.drafts : item.kind === "draft" ? [item.draft] : [];

type RowProps = {
  item: Item;
  tab: string | undefined;
  isChosen: boolean;
  from: string | null | undefined;
  held: DelayedApproval | undefined;
  isRefused: boolean;
};

function Row({ item, tab, isChosen, from, held, isRefused }: RowProps) {
  const Icon = ICONS[item.kind];
  return (
    <Link
      to="/inbox"
      search={{ ...(tab ? { tab } : {}), item: item.id } as never}
      className="item"
      aria-current={isChosen ? "true" : undefined}
      data-item={item.id}
      resetScroll={false}
    >
      <Group justify="space-between" wrap="nowrap" gap="xs" mb={2}>
        <Group gap={6} wrap="nowrap" style={{ minWidth: 0 }}>
          <Icon size={14} aria-hidden style={{ flex: "none" }} />
          <Text size="xs" c="dimmed" truncate>
            {KIND_LABELS[item.kind]}
            {from ? ` · ${escapeInvisible(from)}` : ""}
          </Text>
        </Group>
        <Text size="xs" c="dimmed" component="div" style={{ flex: "none" }}>
          <Timestamp at={item.at} size="xs" />
        </Text>
      </Group>
      <Text size="sm" fw={550} lineClamp={2} className="wrap-anywhere">
        {escapeInvisible(titleOf(item))}
      </Text>
      {held ? <DelayedBadge held={held} /> : <AnsweredNote item={item} isRefused={isRefused} />}
    </Link>
  );
}

function DelayedBadge({ held }: { held: DelayedApproval }) {
  const left = useSecondsLeft(held);
  return (
    <Badge variant="light" color="teal" tt="none" radius="sm" mt={6} className="numbers">
      {held.state === "held" ? t.inbox.sentInS(left) : t.inbox.sending2}
    </Badge>
  );
}

function AnsweredNote({ item, isRefused }: Pick<RowProps, "item" | "isRefused">) {
  const badge = isRefused ? { text: t.inbox.couldNotBeSent, color: "red" } : answeredBadge(item);
  if (!badge) return null;
  return (
    <Badge variant="light" color={badge.color} tt="none" radius="sm" mt={6}>{badge.text}</Badge>
  );
}
