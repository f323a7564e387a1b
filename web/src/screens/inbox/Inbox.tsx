// The inbox: items that wait for a person with exactly what would be sent; messages; expired and
// answered items; and auto-approval rules.

import { Badge, Button, Group, Kbd, Modal, Stack, Tabs, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Keyboard } from "lucide-react";
import { useState } from "react";
import { useLive } from "../../api/live";
import { refresh } from "../../api/client";
import { useUrlState } from "../../kit/urlState";
import { CopyAs } from "../../kit/Copy";
import { PageHead } from "../../kit/PageHead";
import { useCounts, useWaitingItems } from "./queries";
import { Done, Expired } from "./ClosedItems";
import { KEYS } from "./keys";
import { Messages } from "./Messages";
import { Rules } from "./Rules";
import { WaitingItems } from "./WaitingItems";
import { t } from "../../strings";

const TABS = ["waiting", "messages", "expired", "done", "rules"] as const;
type Tab = (typeof TABS)[number];
const LABELS: Record<Tab, string> = {
  waiting: t.inbox.waiting,
  messages: t.inbox.messages,
  expired: t.inbox.expired,
  done: t.inbox.done,
  rules: t.inbox.rules,
};

const tabOf = (given: string | undefined): Tab => TABS.find((one) => one === given) ?? "waiting";

export default function Inbox() {
  const [address] = useUrlState();
  const navigate = useNavigate();
  const tab = tabOf(address.tab);
  const chosen = address.item ?? address.draft;
  const waiting = useWaitingItems();
  const counts = useCounts(waiting.data?.length);
  const [keys, setKeys] = useState(false);
  useLive(({ kind }) => {
    if (kind === "inbox") void refresh("/api/v1/automations", "/api/v1/standing-rules");
  });
  const go = (to: string | null) =>
    void navigate({
      to: "/inbox",
      search: (to && to !== "waiting" ? { tab: to } : {}) as never,
    });
  return (
    <>
      <PageHead
        title={t.inbox.inbox}
        sub={t.inbox.itemsThatNeedAPersonNothing}
        right={
          <>
            <Button
              variant="default"
              leftSection={<Keyboard size={16} />}
              onClick={() => setKeys(true)}
              visibleFrom="sm"
            >
              {t.inbox.keys} <Kbd size="xs" ml={6}>?</Kbd>
            </Button>
            <Operations chosen={chosen} />
          </>
        }
      />
      <Tabs value={tab} onChange={go} keepMounted={false} mb="lg">
        <Tabs.List
          style={{ flexWrap: "nowrap", overflowX: "auto", overflowY: "hidden" }}
          mb="lg"
        >
          {TABS.map((one) => (
            <TabHead
              key={one}
              tab={one}
              many={one === "done" ? 0 : counts[one]}
            />
          ))}
        </Tabs.List>
        <Tabs.Panel value="waiting">
          <WaitingItems query={waiting} chosen={chosen} onKeys={() => setKeys(true)} />
        </Tabs.Panel>
        <Tabs.Panel value="messages">
          <Messages chosen={address.item} />
        </Tabs.Panel>
        <Tabs.Panel value="expired">
          <Expired chosen={chosen} />
        </Tabs.Panel>
        <Tabs.Panel value="done">
          <Done chosen={chosen} />
        </Tabs.Panel>
        <Tabs.Panel value="rules">
          <Rules />
        </Tabs.Panel>
      </Tabs>
      <Modal
        opened={keys}
        onClose={() => setKeys(false)}
        title={t.inbox.keyboardShortcuts}
        centered
        closeButtonProps={{ "aria-label": t.inbox.close }}
      >
        <Stack gap="xs">
          {KEYS.map(({ keys: names, text }) => (
            <Group key={text} justify="space-between">
              <Text size="sm">{text}</Text>
              <Group gap={4}>
                {names.map((name) => <Kbd key={name}>{name}</Kbd>)}
              </Group>
            </Group>
          ))}
        </Stack>
      </Modal>
    </>
  );
}

function TabHead({ tab, many }: { tab: Tab; many: number }) {
  return (
    <Tabs.Tab
      value={tab}
      style={{ flex: "none" }}
      rightSection={many
        ? (
          <Badge
            size="sm"
            variant={tab === "waiting" ? "filled" : "light"}
            radius="xl"
            miw="fit-content"
          >
            {many > 99 ? "99+" : many}
          </Badge>
        )
        : null}
    >
      {LABELS[tab]}
    </Tabs.Tab>
  );
}

function Operations({ chosen }: { chosen: string | undefined }) {
  const path = `/api/v1/drafts/${chosen ?? "DRAFT"}`;
  const draft = { draft_id: chosen ?? "DRAFT" };
  return (
    <CopyAs
      // Only people approve: programs get the link to the page.
      links={[
        { label: t.inbox.approveADraftPeopleOnly, to: `/inbox?draft=${chosen ?? "DRAFT"}` },
      ]}
      operations={[
        {
          label: t.inbox.listWaitingDrafts,
          operation: { method: "GET", path: "/api/v1/drafts?status=pending" },
        },
        {
          label: t.inbox.discardADraft,
          operation: {
            method: "POST",
            path: `${path}/discard`,
            body: {},
            tool: "discard_action",
            arguments: draft,
          },
        },
        {
          label: t.inbox.listQuestions,
          operation: {
            method: "GET",
            path: "/api/v1/approvals",
            tool: "list_approvals",
            arguments: {},
          },
        },
      ]}
    />
  );
}
