// Messages: notifications from automations, and alerts about failed runs.

import { Alert, Anchor, Badge, Box, Button, Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { MessageSquare } from "lucide-react";
import { useEffect, useState } from "react";
import { api, client, refresh, type Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { Empty } from "../../kit/Empty";
import { Timestamp } from "../../kit/Timestamp";
import { escapeInvisible } from "../../kit/format";
import { TextLines } from "../../previews/Value";
import { Panes } from "./Panes";
import { t } from "../../strings";

type Message = Schemas["MessageShape"];
const PAGE = 30;
const MOST = 200;
const LEVELS: Record<Message["level"], string> = { info: "gray", warning: "yellow", error: "red" };

export function Messages({ chosen }: { chosen: string | undefined }) {
  const [limit, setLimit] = useState(PAGE);
  const query = api.useQuery("get", "/api/v1/inbox", { params: { query: { limit } } }, {
    placeholderData: (before: unknown) => before as never,
  });
  return (
    <QueryResult of={query} lines={6}>
      {(page) =>
        page.items.length
          ? (
            <Panes
              isOpen={page.items.some((one) => one.id === chosen)}
              tab="messages"
              list={
                <List
                  messages={page.items}
                  chosen={chosen ?? page.items[0]!.id}
                  more={page.next && limit < MOST
                    ? () => setLimit((now) => Math.min(MOST, now + PAGE))
                    : null}
                />
              }
            >
              <Whole
                message={page.items.find((one) => one.id === chosen) ??
                  page.items[0]!}
                isOpened={chosen !== undefined}
              />
            </Panes>
          )
          : (
            <Empty icon={MessageSquare} title={t.inbox.noMessages}>
              {t.inbox.failedRunsAndMessagesFrom}
            </Empty>
          )}
    </QueryResult>
  );
}

type ListProps = { messages: Message[]; chosen: string; more: (() => void) | null };

function List({ messages, chosen, more }: ListProps) {
  const may = useHasRole("operator");
  const { busy, act } = useAction();
  const readAll = () =>
    act(async () => {
      await client.POST("/api/v1/inbox/read-all", {
        body: { up_to: messages[0]!.id } as never,
      });
      await refresh("/api/v1/inbox");
    }, t.inbox.allMessagesAreRead);
  return (
    <Box className="list">
      {may && messages.some((one) => !one.read_at)
        ? (
          <Group justify="flex-end" mb={6}>
            <Button
              size="compact-sm"
              variant="subtle"
              loading={busy}
              onClick={() => void readAll()}
            >
              {t.inbox.markAllAsRead}
            </Button>
          </Group>
        )
        : null}
      <Card withBorder radius="lg" p={0} component="nav" aria-label={t.inbox.messages}>
        {messages.map((one) => <Line key={one.id} message={one} isChosen={one.id === chosen} />)}
      </Card>
      {more
        ? (
          <Button mt="sm" variant="default" size="compact-sm" onClick={more}>
            {t.inbox.showMore}
          </Button>
        )
        : null}
    </Box>
  );
}

function Line({ message, isChosen }: { message: Message; isChosen: boolean }) {
  return (
    <Link
      to="/inbox"
      search={{ tab: "messages", item: message.id } as never}
      className="item"
      aria-current={isChosen ? "true" : undefined}
      resetScroll={false}
    >
      <Group justify="space-between" wrap="nowrap" gap="xs" mb={2}>
        <Group gap={6}>
          {message.read_at ? null : <Badge size="xs" tt="none">{t.inbox.unread}</Badge>}
          {message.level === "info" ? null : (
            <Badge
              size="xs"
              tt="none"
              variant="light"
              color={LEVELS[message.level]}
            >
              {message.level}
            </Badge>
          )}
        </Group>
        <Text size="xs" c="dimmed" component="div">
          <Timestamp at={message.created_at} size="xs" />
        </Text>
      </Group>
      <Text
        size="sm"
        fw={message.read_at ? 450 : 650}
        lineClamp={2}
        className="wrap-anywhere"
      >
        {escapeInvisible(message.title)}
      </Text>
    </Link>
  );
}

function Whole({ message, isOpened }: { message: Message; isOpened: boolean }) {
  const may = useHasRole("operator");
  const { busy, act } = useAction();
  const unread = !message.read_at;
  const read = async () => {
    await client.POST("/api/v1/inbox/{notification_id}/read", {
      params: { path: { notification_id: message.id } },
    });
    await refresh("/api/v1/inbox");
  };
  // Opened messages are marked as read; the preselected one is not.
  useEffect(() => {
    if (isOpened && unread && may) read().catch(() => {});
  }, [message.id, isOpened, unread, may]);
  return (
    <Stack gap="md">
      <Group gap="xs">
        <Title order={2} size="h4" className="wrap-anywhere">
          {escapeInvisible(message.title)}
        </Title>
        <Badge variant="light" tt="none" radius="sm" color={LEVELS[message.level]}>
          {message.level}
        </Badge>
      </Group>
      <Timestamp at={message.created_at} />
      {message.level === "error"
        ? (
          <Alert color="red" role="note">
            <TextLines text={message.message} />
          </Alert>
        )
        : <TextLines text={message.message} />}
      <Group gap="lg">
        {message.automation_id
          ? (
            <Anchor
              component={Link}
              to={`/automations/${message.automation_id}`}
              size="sm"
            >
              {t.inbox.automation}
            </Anchor>
          )
          : null}
        {message.run_id
          ? (
            <Anchor component={Link} to={`/runs/${message.run_id}`} size="sm">
              {t.inbox.run}
            </Anchor>
          )
          : null}
        {unread && may && !isOpened
          ? (
            <Button
              size="compact-sm"
              variant="default"
              loading={busy}
              onClick={() => void act(read)}
            >
              {t.inbox.markAsRead}
            </Button>
          )
          : null}
      </Group>
    </Stack>
  );
}
