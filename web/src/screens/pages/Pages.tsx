// All pages of the workspace: full-text and semantic search, or the list.

import {
  Badge,
  Button,
  Card,
  Group,
  NativeSelect,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { FileText, Plus, Search } from "lucide-react";
import { type ReactNode, useState } from "react";
import { type Answer, api } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { Timestamp } from "../../kit/Timestamp";
import { PageHead } from "../../kit/PageHead";
import { escapeInvisible, humanize } from "../../kit/format";
import { Calendar } from "./Calendar";
import { splitAtMatches } from "./highlights";
import { NewPage } from "./NewPage";
import { WAYS } from "./searchModes";
import { t } from "../../strings";

type Listed = Answer<"list_pages">["pages"][number];
type Found = Answer<"query_pages">["pages"][number];

const TYPES = [
  "note",
  "derived",
  "email",
  "calendar_event",
  "gdrive_file",
  "chat_session",
  "gh_pr",
  "integration_action",
];
const TIMES: Record<string, { label: string; days: number }> = {
  day: { label: t.pages.theLastDay, days: 1 },
  week: { label: t.pages.theLastWeek, days: 7 },
  month: { label: t.pages.theLastMonth, days: 31 },
};

export default function Pages() {
  const [values, change] = useUrlState();
  const [text] = useDebouncedValue((values.q ?? "").trim(), 250);
  const [writing, setWriting] = useState(false);
  const may = useHasRole("editor");
  const calendar = values.view === "calendar";
  const make = may
    ? (
      <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setWriting(true)}>
        {t.pages.newPage2}
      </Button>
    )
    : null;
  return (
    <>
      <PageHead
        title={t.pages.pages}
        sub={t.pages.textsFromPeopleAutomationsAnd}
        right={
          <>
            {make}
            <CopyAs operations={operations(text)} />
          </>
        }
      />
      <Group mb="md" gap="sm" align="flex-end">
        <SegmentedControl
          aria-label={t.pages.view}
          value={calendar ? "calendar" : "pages"}
          onChange={(next) => change({ view: next === "calendar" ? next : undefined })}
          data={[{ value: "pages", label: t.pages.pages }, {
            value: "calendar",
            label: t.pages.calendar,
          }]}
        />
        {calendar ? null : <SearchForm values={values} change={change} />}
      </Group>
      {calendar ? <Calendar /> : text
        ? (
          <Results
            text={text}
            type={values.type}
            by={values.by === "words" ? "words" : "meaning"}
          />
        )
        : <All type={values.type} time={values.time} make={make} />}
      <NewPage opened={writing} close={() => setWriting(false)} />
    </>
  );
}

type Values = Record<string, string | undefined>;

function SearchForm({ values, change }: { values: Values; change: (more: Values) => void }) {
  const types = values.type && !TYPES.includes(values.type) ? [...TYPES, values.type] : TYPES;
  return (
    <>
      <TextInput
        aria-label={t.pages.searchPages}
        placeholder={t.pages.searchOfficeOpenAtNine}
        leftSection={<Search size={15} aria-hidden />}
        value={values.q ?? ""}
        onChange={(event) => change({ q: event.currentTarget.value || undefined })}
        style={{ flex: "1 1 16rem", maxWidth: 460 }}
      />
      <NativeSelect
        aria-label={t.pages.searchBy}
        value={values.by === "words" ? "words" : "meaning"}
        data={[{ value: "meaning", label: t.pages.wordsAndMeaning }, {
          value: "words",
          label: t.pages.wordsOnly,
        }]}
        onChange={(event) =>
          change({ by: event.currentTarget.value === "words" ? "words" : undefined })}
      />
      <NativeSelect
        aria-label={t.pages.type}
        value={values.type ?? ""}
        data={[
          { value: "", label: t.pages.allTypes },
          ...types.map((one) => ({ value: one, label: humanize(one) })),
        ]}
        onChange={(event) => change({ type: event.currentTarget.value || undefined })}
      />
      {values.q ? null : (
        <NativeSelect
          aria-label={t.pages.time}
          value={values.time ?? ""}
          data={[
            { value: "", label: t.pages.anyTime },
            ...Object.entries(TIMES).map(([value, { label }]) => ({ value, label })),
          ]}
          onChange={(event) => change({ time: event.currentTarget.value || undefined })}
        />
      )}
    </>
  );
}

function Results(
  { text: message, type, by }: { text: string; type?: string; by: "words" | "meaning" },
) {
  const query = { q: message, limit: 50, ...(type ? { type } : {}) };
  const text = api.useQuery("get", "/api/v1/search", { params: { query } }, {
    enabled: by === "words",
  });
  const meaning = api.useQuery("get", "/api/v1/query", { params: { query } }, {
    enabled: by === "meaning",
  });
  if (by === "words") {
    return (
      <QueryResult of={text}>
        {(answer) => <Hits pages={answer.pages} used={answer.used} note={null} />}
      </QueryResult>
    );
  }
  return (
    <QueryResult of={meaning}>
      {(answer) => <Hits pages={answer.pages} used={answer.used} note={answer.note} />}
    </QueryResult>
  );
}

type Hit = Omit<Found, "parts">;

function Hits(
  { pages, used, note }: { pages: Hit[]; used: (keyof typeof WAYS)[]; note: string | null },
) {
  return (
    <Stack gap="sm">
      <Group gap="xs" role="status">
        <Text size="sm" c="dimmed">{t.pages.pageFoundBy(pages.length)}</Text>
        {used.map((way) => <Badge key={way} variant="light" tt="none">{WAYS[way] ?? way}</Badge>)}
      </Group>
      {note ? <Text size="sm" c="dimmed">{note}</Text> : null}
      {pages.length
        ? null
        : <Empty icon={Search} title={t.pages.noMatchingPages}>{t.pages.aPageMustContainAll}
        </Empty>}
      {pages.map((page) => (
        <PageCard key={page.id} page={page}>
          <Text size="sm" className="wrap-anywhere" lineClamp={3}>
            {splitAtMatches(page.snippet, page.highlights).map(({ text, marked }, at) =>
              marked ? <mark key={at}>{text}</mark> : <span key={at}>{text}</span>
            )}
          </Text>
        </PageCard>
      ))}
    </Stack>
  );
}

function All({ type, time, make }: { type?: string; time?: string; make: ReactNode }) {
  const [cursors, setCursors] = useState<string[]>([]);
  const days = TIMES[time ?? ""]?.days;
  // Rounded to a minute, so that the query key stays the same for a while.
  const since = days
    ? new Date(Math.floor(Date.now() / 60_000) * 60_000 - days * 86_400_000).toISOString()
    : undefined;
  const key = `${type}/${time}`;
  const [searched, setSearched] = useState(key);
  if (searched !== key) {
    setSearched(key);
    setCursors([]);
  }
  const cursor = cursors.at(-1);
  const pages = api.useQuery("get", "/api/v1/pages", {
    params: {
      query: {
        limit: 50,
        ...(type ? { type } : {}),
        ...(since ? { ingested_after: since } : {}),
        ...(cursor ? { cursor } : {}),
      },
    },
  });
  return (
    <QueryResult of={pages}>
      {({ pages: all, next }) => (
        <Stack gap="sm">
          {all.length ? null : (
            <Empty
              icon={FileText}
              title={type || time ? t.pages.noMatchingPages2 : t.pages.noPagesYet}
              actions={make}
            >
              {type || time
                ? t.pages.chooseAnotherTypeOrAnother
                : t.pages.automationsWritePagesWithCreate}
            </Empty>
          )}
          {all.map((page) => <PageCard key={page.id} page={page} />)}
          <Group justify="center">
            {cursors.length
              ? (
                <Button
                  variant="default"
                  onClick={() => setCursors(cursors.slice(0, -1))}
                >
                  {t.pages.newer}
                </Button>
              )
              : null}
            {next
              ? (
                <Button
                  variant="default"
                  onClick={() => setCursors([...cursors, next])}
                >
                  {t.pages.older}
                </Button>
              )
              : null}
          </Group>
        </Stack>
      )}
    </QueryResult>
  );
}

function PageCard({ page, children }: { page: Listed; children?: ReactNode }) {
  return (
    <Card
      component={Link}
      to={`/pages/${page.slug}`}
      withBorder
      radius="lg"
      px="lg"
      py="sm"
      className="row-link"
    >
      <Group justify="space-between" wrap="nowrap" gap="sm">
        <Title order={2} size="h5" className="wrap-anywhere">{escapeInvisible(page.title)}</Title>
        <Badge variant="light" color="gray" tt="none" style={{ flex: "none" }}>
          {humanize(page.type)}
        </Badge>
      </Group>
      {children}
      <Text size="xs" c="dimmed" component="div" mt={2}>
        {t.pages.fromReceived(humanize(page.source), <Timestamp at={page.ingested_at} size="xs" />)}
      </Text>
    </Card>
  );
}

function operations(text: string) {
  const q = text || t.pages.officeHours;
  return [
    {
      label: t.pages.searchByWords,
      operation: {
        method: "GET" as const,
        path: `/api/v1/search?q=${encodeURIComponent(q)}`,
        tool: "search",
        arguments: { query: q },
      },
    },
    {
      label: t.pages.searchByWordsAndMeaning,
      operation: {
        method: "GET" as const,
        path: `/api/v1/query?q=${encodeURIComponent(q)}`,
        tool: "query",
        arguments: { query: q },
      },
    },
  ];
}
