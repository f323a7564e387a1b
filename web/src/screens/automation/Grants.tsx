// The grants of an automation and the calls of its runs; unused grants can be removed.

import { Alert, Badge, Button, Card, Divider, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ShieldCheck } from "lucide-react";
import { Fragment } from "react";
import type { Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { Empty } from "../../kit/Empty";
import { Timestamp } from "../../kit/Timestamp";
import { formatDate } from "../../kit/format";
import { useGrants } from "./queries";
import { Grant, Secrets } from "./Permissions";
import { type Detail, isOwn } from "./automationText";
import { t } from "../../strings";

type Use = Schemas["GrantUse"];

function Used({ use }: { use: Use }) {
  return use.calls
    ? (
      <Stack gap={0} align="flex-end" style={{ flex: "none" }}>
        <Text size="sm" className="numbers">{t.counts.calls(use.calls)}</Text>
        <Text size="xs" c="dimmed">
          {t.automation.last(<Timestamp at={use.last_used_at} size="xs" />)}
        </Text>
      </Stack>
    )
    : (
      <Badge variant="light" color="gray" tt="none" radius="sm" style={{ flex: "none" }}>
        {t.automation.notUsed}
      </Badge>
    );
}

/** The description of a grant for this definition; usage records only have its limits. */
const describedIn = ({ grants }: Detail, use: Use) =>
  grants.find((one) =>
    one.capability === use.capability && JSON.stringify(one.params) === JSON.stringify(use.params)
  ) ?? grants.find((one) => one.capability === use.capability);

function Rows({ items, automation }: { items: Use[]; automation: Detail }) {
  return (
    <Card withBorder radius="lg" p={0}>
      {items.map((use, at) => (
        <Fragment key={at}>
          {at ? <Divider /> : null}
          <Group justify="space-between" px="md" py="sm" wrap="nowrap">
            <Grant grant={describedIn(automation, use) ?? use} />
            <Used use={use} />
          </Group>
        </Fragment>
      ))}
    </Card>
  );
}

function Unused({ automation, unused, runs }: { automation: Detail; unused: Use[]; runs: number }) {
  const mayRole = useHasRole("editor");
  const may = mayRole && automation.state !== "archived";
  if (!unused.length || !runs) return null;
  const names = unused.map((one) => one.capability);
  return (
    <Alert
      variant="light"
      color="yellow"
      icon={<ShieldCheck size={16} />}
      title={t.automation.grantNotUsed(unused.length)}
    >
      <Text size="sm">
        {t.automation.noneOfTheLastRun(runs, <span className="mono">{names.join(", ")}</span>)}
      </Text>
      {may
        ? (
          <Button
            mt="xs"
            size="compact-sm"
            variant="default"
            component={Link}
            to={`/automations/${automation.id}/edit?at=/grants`}
          >
            {t.automation.removeThemInTheEditor}
          </Button>
        )
        : null}
    </Alert>
  );
}

export function Grants({ automation }: { automation: Detail }) {
  const query = useGrants(automation.id);
  return (
    <QueryResult of={query}>
      {({ items, runs, since }) => {
        const shown = items.filter((one) => !isOwn(one));
        const used = shown.filter((one) => one.calls);
        const unused = shown.filter((one) => !one.calls);
        return (
          <Stack>
            <Text size="sm" c="dimmed">
              {runs && since
                ? t.automation.basedOnTheLatestLive(runs, formatDate(since))
                : t.automation.noLiveRunYetSo}
            </Text>
            <Unused automation={automation} unused={unused} runs={runs} />
            {used.length
              ? (
                <Stack gap="xs">
                  <Title order={2} size="h5">{t.automation.used}</Title>
                  <Rows items={used} automation={automation} />
                </Stack>
              )
              : null}
            {unused.length
              ? (
                <Stack gap="xs">
                  <Title order={2} size="h5">{t.automation.notUsedYet}</Title>
                  <Rows items={unused} automation={automation} />
                </Stack>
              )
              : null}
            {shown.length ? null : (
              <Empty icon={ShieldCheck} title={t.automation.noGrants}>
                {t.automation.itUsesOnlyItsOwn(Boolean(items.length))}
              </Empty>
            )}
            <Secrets automation={automation} />
          </Stack>
        );
      }}
    </QueryResult>
  );
}
