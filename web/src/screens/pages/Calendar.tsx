// Events that integrations ingested, by their own time: two weeks at once.

import { ActionIcon, Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CalendarDays, ChevronLeft, ChevronRight } from "lucide-react";
import { api } from "../../api/client";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { Empty } from "../../kit/Empty";
import { escapeInvisible, formatDate } from "../../kit/format";
import { locale, t } from "../../strings";

const DAYS = 14;
const later = (text: string, days: number) => {
  const moved = new Date(`${text}T00:00:00Z`);
  moved.setUTCDate(moved.getUTCDate() + days);
  return moved.toISOString().slice(0, 10);
};

export function Calendar() {
  const [values, change] = useUrlState();
  const today = new Date().toISOString().slice(0, 10);
  const from = /^\d{4}-\d{2}-\d{2}$/.test(values.from ?? "") ? values.from! : today;
  const to = later(from, DAYS);
  const events = api.useQuery("get", "/api/v1/calendar-events", {
    params: { query: { start: `${from}T00:00:00Z`, end: `${to}T00:00:00Z`, limit: 100 } },
  });
  return (
    <Stack gap="md">
      <Group gap="xs">
        <ActionIcon
          variant="default"
          aria-label={t.pages.earlier}
          onClick={() => change({ from: later(from, -DAYS) })}
        >
          <ChevronLeft size={16} />
        </ActionIcon>
        <Text fw={600}>
          {t.pages.to(formatDate(`${from}T12:00:00Z`), formatDate(`${later(to, -1)}T12:00:00Z`))}
        </Text>
        <ActionIcon
          variant="default"
          aria-label={t.pages.later}
          onClick={() => change({ from: to })}
        >
          <ChevronRight size={16} />
        </ActionIcon>
      </Group>
      <QueryResult of={events}>
        {({ pages }) =>
          pages.length
            ? (
              <Stack gap="xs">
                {pages.map((event) => (
                  <Card
                    key={`${event.id}${event.start}`}
                    component={Link}
                    to={`/pages/${event.slug}`}
                    withBorder
                    radius="md"
                    className="row-link"
                    py="sm"
                  >
                    <Title order={2} size="h6">{escapeInvisible(event.title)}</Title>
                    <Text size="sm" c="dimmed" className="numbers">
                      {times(event.start, event.end)}
                    </Text>
                  </Card>
                ))}
              </Stack>
            )
            : (
              <Empty icon={CalendarDays} title={t.pages.noEventsInThisPeriod}>
                {t.pages.eventsComeFromCalendarsConnected}
              </Empty>
            )}
      </QueryResult>
    </Stack>
  );
}

function times(start: string, end: string | null): string {
  const show = (text: string, time = true) =>
    new Date(text).toLocaleString(locale, {
      ...(time ? {} : { weekday: "short", day: "numeric", month: "short" }),
      ...(time ? { hour: "2-digit", minute: "2-digit" } : {}),
    });
  return `${show(start, false)}, ${show(start)}${end ? t.pages.to2(show(end)) : ""}`;
}
