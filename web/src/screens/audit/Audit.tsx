// The audit log: actions and refusals in the workspace, the newest first.

import {
  Anchor,
  Badge,
  Button,
  Card,
  Collapse,
  Group,
  Stack,
  Text,
  UnstyledButton,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronRight, Download, ScrollText } from "lucide-react";
import { useMemo } from "react";
import { api, client } from "../../api/client";
import { useHasRole, useSession } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { ProblemNote, QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { download } from "../../kit/download";
import { Empty } from "../../kit/Empty";
import { Json } from "../../kit/Json";
import { Timestamp } from "../../kit/Timestamp";
import { PageHead } from "../../kit/PageHead";
import "../../kit/ruled.css";
import { escapeInvisible } from "../../kit/format";
import { Filters } from "./Filters";
import { type AuditFilters, toQuery } from "./auditQuery";
import { asLines, type Entry, type Names, sentenceOf } from "./sentences";
import { t } from "../../strings";

const PAGE = 50;
const NAMED = 100;

export default function Audit() {
  const may = useHasRole("admin");
  return (
    <>
      {may ? <Log /> : (
        <>
          <PageHead title={t.audit.auditLog} />
          <Empty icon={ScrollText} title={t.audit.onlyAdminsCanReadThe}>
            {t.audit.yourRoleCannotReadThe}
          </Empty>
        </>
      )}
    </>
  );
}

function useEntries(sought: AuditFilters) {
  const { workspace } = useSession();
  const query = toQuery(sought);
  return useInfiniteQuery({
    queryKey: ["get", "/api/v1/audit", workspace.id, query],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const { data } = await client.GET("/api/v1/audit", {
        params: { query: { ...query, limit: PAGE, cursor: pageParam } },
      });
      return data!;
    },
    getNextPageParam: (last) => last.next ?? undefined,
  });
}

/** The names of the resources in the entries, as far as they still exist. */
function useNames(): Names {
  const automations = api.useQuery("get", "/api/v1/automations", {
    params: { query: { limit: NAMED } },
  });
  const boards = api.useQuery("get", "/api/v1/boards", {});
  const members = api.useQuery("get", "/api/v1/members");
  const { workspaces } = useSession();
  return useMemo(() => {
    const named = [
      ...automations.data?.items ?? [],
      ...boards.data?.boards ?? [],
      ...workspaces,
    ];
    const people = members.data?.members ?? [];
    return new Map([
      ...named.map((one) => [one.id, one.name] as const),
      ...people.map((one) => [one.id, one.name || one.email] as const),
    ]);
  }, [automations.data, boards.data, members.data, workspaces]);
}

function Log() {
  const [sought] = useUrlState() as [AuditFilters, unknown];
  const entries = useEntries(sought);
  const names = useNames();
  const shown = entries.data?.pages.flatMap((page) => page.items);
  const path = `/api/v1/audit?${new URLSearchParams(toQuery(sought) as Record<string, string>)}`;
  return (
    <>
      <PageHead
        title={t.audit.auditLog}
        sub={t.audit.whoDidWhatInThis}
        right={
          <>
            <Button
              variant="default"
              disabled={!shown?.length}
              leftSection={<Download size={15} />}
              onClick={() => download("audit.jsonl", asLines(shown ?? []), "application/jsonl")}
            >
              {t.audit.exportVisibleEntries}
            </Button>
            <CopyAs
              operations={[{
                label: t.audit.readTheAuditLog,
                operation: { method: "GET", path },
              }]}
            />
          </>
        }
      />
      <Stack>
        <Filters />
        <QueryResult of={{ ...entries, data: shown } as never} lines={8}>
          {(found: Entry[]) => <Entries entries={found} names={names} />}
        </QueryResult>
        {entries.data && entries.error ? <ProblemNote problem={entries.error} /> : null}
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {shown ? t.audit.entryShown(shown.length) : ""}
          </Text>
          {entries.hasNextPage
            ? (
              <Button
                variant="default"
                loading={entries.isFetchingNextPage}
                onClick={() => void entries.fetchNextPage()}
              >
                {t.audit.loadMore}
              </Button>
            )
            : null}
        </Group>
      </Stack>
    </>
  );
}

function Entries({ entries, names }: { entries: Entry[]; names: Names }) {
  if (!entries.length) {
    return (
      <Empty icon={ScrollText} title={t.audit.noMatchingEntries}>
        {t.audit.everyChangeInThisWorkspace}
      </Empty>
    );
  }
  return (
    <Card withBorder radius="lg" p={0} className="ruled">
      {entries.map((one) => <EntryLine key={one.id} entry={one} names={names} />)}
    </Card>
  );
}

function EntryLine({ entry, names }: { entry: Entry; names: Names }) {
  const [open, { toggle }] = useDisclosure(false);
  const { who, did, thing, rest } = sentenceOf(entry, names);
  const Chevron = open ? ChevronDown : ChevronRight;
  return (
    <div>
      <Group px="md" py="xs" gap="sm" wrap="nowrap" align="flex-start">
        <UnstyledButton
          onClick={toggle}
          aria-expanded={open}
          aria-label={t.audit.detailsOf(entry.action)}
          pt={3}
        >
          <Chevron size={16} aria-hidden />
        </UnstyledButton>
        <Text size="sm" flex={1} className="wrap-anywhere" component="div">
          <Text span fw={600} c={entry.action === "denied" ? "var(--bad)" : undefined}>
            {who}
          </Text>{" "}
          {did} {thing
            ? thing.to
              ? (
                <Anchor component={Link} to={thing.to} size="sm" underline="always">
                  {escapeInvisible(thing.label)}
                </Anchor>
              )
              : <b>{escapeInvisible(thing.label)}</b>
            : null} <Text span size="sm" c="dimmed">{rest}</Text>
          {entry.detail.approve_token === true
            ? <Badge ml="xs" variant="light" color="red" tt="none">{t.audit.byATokenThatCan}</Badge>
            : null}
        </Text>
        <Timestamp at={entry.at} />
      </Group>
      <Collapse expanded={open}>
        {open
          ? (
            <div style={{ padding: "0 16px 16px 46px" }}>
              <Detail entry={entry} />
            </div>
          )
          : null}
      </Collapse>
    </div>
  );
}

function Detail({ entry }: { entry: Entry }) {
  const called = typeof entry.detail.call === "string" ? entry.detail.call : null;
  const call = api.useQuery(
    "get",
    "/api/v1/calls/{call_id}",
    { params: { path: { call_id: called ?? "" } } },
    { enabled: called !== null },
  );
  return (
    <Stack gap="sm">
      <Json value={entry} label={t.audit.entry} />
      {called
        ? (
          <QueryResult of={call}>
            {(found) => <Json value={found} label={t.audit.apiCall} />}
          </QueryResult>
        )
        : null}
    </Stack>
  );
}
