// The firings of a trigger: the last payload, and the outcome of each.

import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { api, client, type Schemas } from "../../api/client";
import { statusOf } from "./queries";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { QueryResult } from "../../kit/QueryResult";
import { useConfirm } from "../../kit/Confirm";
import { Json } from "../../kit/Json";
import { byCursor } from "../../kit/paging";
import { Timestamp } from "../../kit/Timestamp";
import { Status } from "../../kit/Status";
import { capitalize, humanize } from "../../kit/format";
import { t } from "../../strings";

type Trigger = Schemas["TriggerShape"];
const ONE = "/api/v1/automations/{automation_id}/triggers/{slug}" as const;
const of = (trigger: Trigger) => ({ automation_id: trigger.automation_id, slug: trigger.slug });

export function LastPayload({ trigger }: { trigger: Trigger }) {
  const query = api.useQuery("get", `${ONE}/last-payload`, { params: { path: of(trigger) } }, {
    retry: false,
  });
  const confirm = useConfirm();
  const navigate = useNavigate();
  const may = useHasRole("operator");
  const { busy, act } = useAction();
  if (statusOf(query.error) === 404) {
    return <Text size="sm" c="dimmed">{t.automation.noPayloadYet}</Text>;
  }
  const again = async (run_id: string) => {
    const yes = await confirm({
      title: t.automation.runItNowWithThis,
      message: t.automation.thisIsALiveRun,
      yes: t.automation.runLive,
    });
    if (!yes) return;
    await act(async () => {
      const { data } = await client.POST("/api/v1/runs/{run_id}/replay", {
        params: { path: { run_id } },
        body: { version: "active" },
      });
      await navigate({ to: `/runs/${data!.run_id}` });
    });
  };
  return (
    <QueryResult of={query} lines={2}>
      {(last) => (
        <Stack gap="xs">
          <Group gap="xs" justify="space-between">
            <Text size="sm" c="dimmed">{t.automation.received(<Timestamp at={last.at} />)}</Text>
            {may
              ? (
                <Button
                  size="compact-sm"
                  variant="default"
                  loading={busy}
                  onClick={() => void again(last.run_id)}
                >
                  {t.automation.runWithThisPayload}
                </Button>
              )
              : null}
          </Group>
          <Json value={last.payload} label={t.automation.theLastPayload} most={240} />
        </Stack>
      )}
    </QueryResult>
  );
}

function One({ at, run_id, status, reason, moments }: Schemas["Moment"]) {
  return (
    <Group gap="sm" wrap="nowrap">
      <Timestamp at={at} />
      {status
        ? <Status value={status} />
        : <Status value="skipped" label={t.automation.didNotFire} />}
      <Text size="sm" c="dimmed" style={{ flex: 1 }}>
        {reason ? capitalize(humanize(reason)) : ""}
        {moments > 1 ? ` (${t.counts.moments(moments)})` : ""}
      </Text>
      {run_id
        ? (
          <Anchor
            component={Link}
            to={`/runs/${run_id}`}
            size="sm"
            aria-label={t.automation.openTheRunOf(at)}
          >
            {t.automation.run}
          </Anchor>
        )
        : null}
    </Group>
  );
}

export function Firings({ trigger }: { trigger: Trigger }) {
  const pages = api.useInfiniteQuery("get", `${ONE}/firings`, {
    params: { path: of(trigger), query: { limit: 10 } },
  }, {
    ...byCursor,
  });
  return (
    <QueryResult of={pages} lines={3}>
      {({ pages: read }) => {
        const items = read.flatMap((one) => one.items);
        if (!items.length) {
          return <Text size="sm" c="dimmed">{t.automation.itHasNotFiredYet}</Text>;
        }
        return (
          <Stack gap={6}>
            {items.map((one, at) => <One key={`${one.at}${at}`} {...one} />)}
            {pages.hasNextPage
              ? (
                <Group>
                  <Button
                    size="compact-sm"
                    variant="default"
                    loading={pages.isFetchingNextPage}
                    onClick={() => void pages.fetchNextPage()}
                  >
                    {t.automation.showMore}
                  </Button>
                </Group>
              )
              : null}
          </Stack>
        );
      }}
    </QueryResult>
  );
}
