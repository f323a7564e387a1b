// An e-mail as the recipient will see it: recipients, subject, body.

import { Avatar, Box, Divider, Group, Stack, Text } from "@mantine/core";
import { Mail } from "lucide-react";
import { visible } from "../kit/format";
import { listed, parted, type Shape } from "./shape";
import { drawn, Files, Lines, Words } from "./Value";

type Props = { shape: Shape; account: string | null };

export function Letter({ shape, account }: Props) {
  const [{ from, to }, others] = parted(shape.lines, ["from", "to"]);
  const sender = from ? String(from) : account;
  const [plainWords, ...more] = shape.texts;
  return (
    <Stack gap="md" className="delivered" p="lg">
      <Text fw={650} size="lg" className="wrap-anywhere" dir="auto">
        {shape.title ? visible(shape.title) : "(no subject)"}
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
                  <Words
                    text={sender ?? "the address of this installation"}
                  />
                ),
              },
              {
                name: "to",
                value: <Words text={listed(to).join(", ") || "nobody"} />,
              },
              ...drawn(others),
            ]}
          />
        </Box>
      </Group>
      <Divider />
      {plainWords
        ? <Words text={String(plainWords.value)} />
        : <Text size="sm" c="dimmed">(no words)</Text>}
      {more.map(({ name, value }) => (
        <Box key={name}>
          <Text size="xs" c="dimmed" mb={4}>
            The same as {name === "html" ? "HTML" : visible(name)}, as it is written
          </Text>
          <Words text={String(value)} mono />
        </Box>
      ))}
      {shape.files.length ? <Divider /> : null}
      <Files files={shape.files} />
    </Stack>
  );
}
