// A chat message as it will appear in its channel.

import { Avatar, Box, Group, Stack, Text } from "@mantine/core";
import { escapeInvisible } from "../kit/format";
import { partitionLines, type Shape } from "./shape";
import { drawn, Files, Lines, TextLines } from "./Value";
import { t } from "../strings";

type Props = { shape: Shape; place: string | null; account: string | null };

const channelOf = (
  { channel, channel_id, chat_id, owner, repo, number, item_id }: Record<string, unknown>,
) => {
  if (owner && repo) return `${owner}/${repo}${number ? `#${number}` : ""}`;
  const named = channel ?? channel_id ?? chat_id ?? (item_id ? t.previews.item(item_id) : null);
  return named ? String(named) : null;
};

export function ChatMessage({ shape, place, account }: Props) {
  const names = [
    "channel",
    "channel_id",
    "chat_id",
    "owner",
    "repo",
    "number",
    "item_id",
    "thread_ts",
  ];
  const [where, others] = partitionLines(shape.lines, names);
  const channel = channelOf(where);
  return (
    <Stack gap="sm" className="delivered" p="lg">
      <Text size="sm" c="dimmed" className="wrap-anywhere">
        {where.thread_ts ? t.previews.inAThreadOf : t.previews.to}
        <Text span fw={600} c="var(--mantine-color-text)" className="mono">
          {channel ? escapeInvisible(channel) : t.previews.theChatOfThisWorkspace}
        </Text>
        {place ? t.previews.in(place) : ""}
        {where.thread_ts ? ` (${escapeInvisible(String(where.thread_ts))})` : ""}
      </Text>
      <Group wrap="nowrap" align="flex-start" gap="sm">
        <Avatar
          visibleFrom="sm"
          radius="md"
          size={36}
          name={account ?? place ?? t.previews.bot}
          color="initials"
          aria-hidden
        />
        <Box style={{ minWidth: 0 }}>
          <Text size="sm" fw={600}>{account ? escapeInvisible(account) : "Mainspring"}</Text>
          <Box className="bubble">
            {shape.texts.map(({ name, value }) => <TextLines key={name} text={String(value)} />)}
          </Box>
        </Box>
      </Group>
      <Lines lines={drawn(others)} />
      <Files files={shape.files} />
    </Stack>
  );
}
