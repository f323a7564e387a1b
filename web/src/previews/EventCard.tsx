// A calendar event: title, local time, time as sent, and attendees.

import { Box, Group, Stack, Text } from "@mantine/core";
import { escapeInvisible, formatDateTime } from "../kit/format";
import { eventTime, listed, partitionLines, type Shape } from "./shape";
import { drawn, Files, Lines, TextLines } from "./Value";
import { locale, t } from "../strings";

const isExact = (sent: string) => /T/.test(sent) && !Number.isNaN(Date.parse(sent));
// Without an offset the time is in the event's time zone and must not be converted.
const hasZone = (sent: string) => /(Z|[+-]\d\d:?\d\d)$/.test(sent);

function When({ sent }: { sent: string }) {
  if (!isExact(sent) || !hasZone(sent)) return <TextLines text={sent.replace("T", " ")} />;
  return (
    <Text size="sm">
      {formatDateTime(sent)}{" "}
      <Text span size="xs" c="dimmed" className="mono">{escapeInvisible(sent)}</Text>
    </Text>
  );
}

function Leaf({ sent }: { sent: string }) {
  const day = sent.slice(0, 10);
  const parsed = new Date(`${day}T12:00:00`);
  if (Number.isNaN(parsed.getTime())) return null;
  return (
    <Box className="leaf" aria-hidden>
      <Text size="xs" fw={650} tt="uppercase" c="dimmed">
        {parsed.toLocaleDateString(locale, { month: "short" })}
      </Text>
      <Text fw={650} size="xl" lh={1.1}>{parsed.getDate()}</Text>
    </Box>
  );
}

export function EventCard({ shape }: { shape: Shape }) {
  const [{ start, end, attendees }, others] = partitionLines(shape.lines, [
    "start",
    "end",
    "attendees",
  ]);
  const begins = eventTime(start);
  const lines = [
    { name: "start", label: t.previews.from, value: <When sent={begins} /> },
    { name: "end", label: t.previews.to2, value: <When sent={eventTime(end)} /> },
  ].filter(({ name }) => eventTime(name === "start" ? start : end));
  const guests = listed(attendees);
  return (
    <Group wrap="nowrap" align="flex-start" gap="md" className="delivered" p="lg">
      {begins ? <Leaf sent={begins} /> : null}
      <Stack gap="sm" style={{ minWidth: 0, flex: 1 }}>
        <Text fw={650} size="lg" className="wrap-anywhere" dir="auto">
          {shape.title ? escapeInvisible(shape.title) : t.previews.event}
        </Text>
        <Lines
          lines={[
            ...lines,
            ...(guests.length
              ? [{ name: "guests", value: <TextLines text={guests.join("\n")} /> }]
              : []),
            ...drawn(others),
          ]}
        />
        {shape.texts.map(({ name, value }) => <TextLines key={name} text={String(value)} />)}
        <Files files={shape.files} />
      </Stack>
    </Group>
  );
}
