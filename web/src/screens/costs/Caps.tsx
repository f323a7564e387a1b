// The cost caps, and how much of today's is used.

import { Anchor, Card, Group, Progress, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client";
import { useHasRole, useSession } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { formatUsd } from "../../kit/format";
import { dayOf, shareOf, spentOn } from "./sums";
import { t } from "../../strings";

export function Caps() {
  const { workspace } = useSession();
  const [address] = useUrlState();
  const today = dayOf(Date.now());
  const usage = api.useQuery("get", "/api/v1/usage", {
    params: { query: { from: today, to: today } },
  });
  const spent = usage.data ? spentOn(usage.data.days, today) : 0;
  return (
    <Card withBorder radius="lg" p="lg">
      <Stack gap="md">
        <Cap
          label={t.costs.todayInTotal(workspace.name)}
          spent={spent}
          cap={workspace.cost_cap_daily_usd}
        />
        {address.automation ? <AutomationCap id={address.automation} today={today} /> : null}
      </Stack>
    </Card>
  );
}

function AutomationCap({ id, today }: { id: string; today: string }) {
  const usage = api.useQuery("get", "/api/v1/usage", {
    params: { query: { from: today, to: today, automation_id: id } },
  });
  const forecast = api.useQuery("get", "/api/v1/automations/{automation_id}/forecast", {
    params: { path: { automation_id: id } },
  });
  const caps = forecast.data?.caps;
  if (!usage.data || !caps) return null;
  return (
    <Cap
      label={t.costs.todayThisAutomation}
      spent={spentOn(usage.data.days, today)}
      cap={Number(caps.usd_per_day)}
    />
  );
}

function Cap({ label, spent, cap }: { label: string; spent: number; cap: number | null }) {
  const mayOwn = useHasRole("owner");
  const share = cap === null ? 0 : shareOf(spent, cap);
  return (
    <Stack gap={6}>
      <Group justify="space-between">
        <Text size="sm" fw={600}>{label}</Text>
        <Text size="sm" className="numbers">
          {cap === null
            ? t.costs.spent(formatUsd(spent))
            : t.costs.of(formatUsd(spent), formatUsd(cap), share)}
        </Text>
      </Group>
      {cap === null
        ? (
          <Text size="sm" c="dimmed">
            {t.costs.theWorkspaceHasNoDaily} {mayOwn
              ? (
                <Anchor
                  component={Link}
                  to="/settings/workspace"
                  size="sm"
                  underline="always"
                >
                  {t.costs.setALimit}
                </Anchor>
              )
              : null}
          </Text>
        )
        : (
          <Progress
            value={share}
            color={share >= 90 ? "red" : share >= 70 ? "yellow" : "spring"}
            aria-label={t.costs.ofTheLimit(label, share)}
          />
        )}
    </Stack>
  );
}
