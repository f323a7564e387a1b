// An e-mail as the recipient will see it: recipients, subject, body.

import { Avatar, Box, Divider, Group, Stack, Text } from "@mantine/core";
import { Mail } from "lucide-react";
import { escapeInvisible } from "../kit/format";
import { listed, partitionLines, type Shape } from "./shape";
import { drawn, Files, Lines, TextLines } from "./Value";
import { t } from "../strings";

type Props = { shape: Shape; account: string | null };

export function EmailPreview({ shape, account }: Props) {
  const [{ from, to }, others] = partitionLines(shape.lines, ["from", "to"]);
  const sender = from ? String(from) : account;
  const [plainWords, ...more] = shape.texts;
  return (
    <Stack gap="md" className="delivered" p="lg">
      <Text fw={650} size="lg" className="wrap-anywhere" dir="auto">
        {shape.title ? escapeInvisible(shape.title) : t.previews.noSubject}
      </Text>
      <Group wrap="nowrap" align="flex-start" gap="sm">
        <Avatar
          visibleFrom="sm"
          radius="xl"
          size={36}
          name={sender ?? undefined}
          color={sender ? "initials" : "spring"}
          aria-hidden
        >
          {sender ? undefined : <Mail size={18} />}
        </Avatar>
        <Box style={{ minWidth: 0, flex: 1 }}>
          <Lines
            lines={[
              {
                name: "from",
                value: (
                  <TextLines
                    text={sender ?? t.previews.theAddressOfThisInstallation}
                  />
                ),
              },
              {
                name: "to",
                value: <TextLines text={listed(to).join(", ") || t.previews.nobody} />,
              },
              ...drawn(others),
            ]}
          />
        </Box>
      </Group>
      <Divider />
      {plainWords
        ? <TextLines text={String(plainWords.value)} />
        : <Text size="sm" c="dimmed">{t.previews.noText}</Text>}
      {more.map(({ name, value }) => (
        <Box key={name}>
          <Text size="xs" c="dimmed" mb={4}>
            {t.previews.theSameAsSourceText(name === "html" ? "HTML" : escapeInvisible(name))}
          </Text>
          <TextLines text={String(value)} mono />
        </Box>
      ))}
      {shape.files.length ? <Divider /> : null}
      <Files files={shape.files} />
    </Stack>
  );
}
