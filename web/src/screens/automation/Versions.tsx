// The versions of an automation: author, time, difference and rollback.

import { Badge, Button, Card, Group, Modal, Select, Stack, Text, Timeline } from "@mantine/core";
import { useState } from "react";
import { api, client, type Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useRawResponse } from "../../api/rawResponse";
import { notifyDone } from "../../kit/useAction";
import { ProblemNote, QueryResult } from "../../kit/QueryResult";
import { useUrlState } from "../../kit/urlState";
import { indentJson, rawValue } from "../../kit/exactJson";
import { Json } from "../../kit/Json";
import { byCursor } from "../../kit/paging";
import { formatDateTime } from "../../kit/format";
import { refreshAll } from "./queries";
import { Comparison } from "./Comparison";
import { Part } from "./Overview";
import { type Detail, versionsToCompare } from "./automationText";
import { t } from "../../strings";

type Version = Schemas["VersionSummary"];
const ONE = "/api/v1/automations/{automation_id}" as const;

/** The author's name, if the user is allowed to see it. */
function useNames(): (id: string) => string {
  const { data } = api.useQuery("get", "/api/v1/members", {}, {
    retry: false,
    staleTime: 60_000,
  });
  const names = new Map(data?.members.map((one) => [one.id, one.name || one.email]));
  return (id) => names.get(id) ?? t.automation.aFormerMember;
}

function RollbackModal(
  { automation, version, close }: { automation: Detail; version: number; close: () => void },
) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const back = async () => {
    setBusy(true);
    try {
      const params = { path: { automation_id: automation.id } };
      const { data } = await client.POST(`${ONE}/rollback`, { params, body: { version } });
      notifyDone(t.automation.versionIsActiveAgainAs(version, data!.version));
      close();
      await refreshAll();
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened onClose={close} title={t.automation.restoreVersion(version)} size="xl" centered>
      <Stack>
        <Text size="sm">{t.automation.itBecomesTheNewestAnd}</Text>
        <Comparison id={automation.id} from={automation.version} to={version} />
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>{t.automation.notNow}</Button>
          <Button
            loading={busy}
            onClick={() =>
              void back()}
          >
            {t.automation.restore}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function ExactModal({ id, version, close }: { id: string; version: number; close: () => void }) {
  const query = useRawResponse(`/api/v1/automations/${id}/versions/${version}`);
  return (
    <Modal
      opened
      onClose={close}
      title={t.automation.versionExactlyAsSaved(version)}
      size="xl"
      centered
    >
      <QueryResult of={query}>
        {(text) => (
          <Json
            value={indentJson(rawValue(text, "definition") ?? text)}
            label={t.automation.version(version)}
            most={560}
          />
        )}
      </QueryResult>
    </Modal>
  );
}

type LineProps = {
  version: Version;
  author: string;
  act: (what: "back" | "exact" | "compare") => void;
  may: boolean;
};

function Line({ version, author, act, may }: LineProps) {
  const text = [
    author,
    formatDateTime(version.created_at),
    version.rollback_of ? t.automation.restoresVersion(version.rollback_of) : "",
  ].filter(Boolean).join(" · ");
  return (
    <>
      <Text size="sm" c="dimmed">{text}</Text>
      <Group gap={4} mt={4}>
        <Button size="compact-xs" variant="default" onClick={() => act("exact")}>
          {t.automation.exactJson}
        </Button>
        {version.in_force
          ? null
          : (
            <Button size="compact-xs" variant="default" onClick={() => act("compare")}>
              {t.automation.compareWithCurrent}
            </Button>
          )}
        {may && !version.in_force
          ? (
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => act("back")}
            >
              {t.automation.restoreVersion2(version.version)}
            </Button>
          )
          : null}
      </Group>
    </>
  );
}

function Compare({ id, newest }: { id: string; newest: number }) {
  const [values, change] = useUrlState();
  if (newest < 2) return null;
  const data = Array.from({ length: newest }, (_, at) => ({
    value: String(newest - at),
    label: t.automation.version2(newest - at),
  }));
  const compared = versionsToCompare(values, newest);
  const [from, to] = [String(compared.from), String(compared.to)];
  return (
    <Part
      title={t.automation.differences}
      right={
        <Group gap="xs">
          <Select
            aria-label={t.automation.from2}
            data={data}
            value={from}
            onChange={(value) => change({ from: value ?? undefined })}
            allowDeselect={false}
            size="xs"
            w={120}
          />
          <Text size="sm">{t.automation.to}</Text>
          <Select
            aria-label={t.automation.to2}
            data={data}
            value={to}
            onChange={(value) => change({ to: value ?? undefined })}
            allowDeselect={false}
            size="xs"
            w={120}
          />
        </Group>
      }
    >
      <Comparison id={id} from={compared.from} to={compared.to} />
    </Part>
  );
}

export function Versions({ automation }: { automation: Detail }) {
  const [values, change] = useUrlState();
  const [open, setOpen] = useState<{ what: "back" | "exact"; version: number } | null>(null);
  const mayRole = useHasRole("editor");
  const may = mayRole && automation.state !== "archived";
  const nameOf = useNames();
  const pages = api.useInfiniteQuery("get", `${ONE}/versions`, {
    params: { path: { automation_id: automation.id }, query: { limit: 30 } },
  }, {
    ...byCursor,
  });
  const close = () => setOpen(null);
  const acting = (version: number) => (what: "back" | "exact" | "compare") =>
    what === "compare"
      ? change({ from: String(version), to: String(automation.version), version: undefined })
      : setOpen({ what, version });
  return (
    <QueryResult of={pages}>
      {({ pages: read }) => {
        const versions = read.flatMap((one) => one.items);
        return (
          <Stack>
            <Compare id={automation.id} newest={versions[0]?.version ?? 0} />
            <Card withBorder radius="lg" p="lg">
              <Timeline bulletSize={14} lineWidth={2} active={-1}>
                {versions.map((one) => (
                  <Timeline.Item
                    key={one.version}
                    title={
                      <Group gap="xs" component="span">
                        {t.automation.version2(one.version)}
                        {one.in_force
                          ? (
                            <Badge size="sm" variant="light" tt="none">
                              {t.automation.active}
                            </Badge>
                          )
                          : null}
                        {values.version === String(one.version)
                          ? (
                            <Badge size="sm" variant="light" tt="none" color="gray">
                              {t.automation.linkedVersion}
                            </Badge>
                          )
                          : null}
                      </Group>
                    }
                  >
                    <Line
                      version={one}
                      author={nameOf(one.author)}
                      act={acting(one.version)}
                      may={may}
                    />
                  </Timeline.Item>
                ))}
              </Timeline>
              {pages.hasNextPage
                ? (
                  <Button
                    mt="md"
                    variant="default"
                    loading={pages.isFetchingNextPage}
                    onClick={() => void pages.fetchNextPage()}
                  >
                    {t.automation.showMore}
                  </Button>
                )
                : null}
            </Card>
            {open?.what === "back"
              ? (
                <RollbackModal
                  automation={automation}
                  version={open.version}
                  close={close}
                />
              )
              : null}
            {open?.what === "exact"
              ? <ExactModal id={automation.id} version={open.version} close={close} />
              : null}
          </Stack>
        );
      }}
    </QueryResult>
  );
}
