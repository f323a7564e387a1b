// The triggers of an automation: description, next fire times, switch and history.

import {
  Anchor,
  Badge,
  Button,
  Card,
  Code,
  Collapse,
  Group,
  List,
  Stack,
  Switch,
  Text,
  Title,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Hand } from "lucide-react";
import { useState } from "react";
import { client, type Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { QueryResult } from "../../kit/QueryResult";
import { Empty } from "../../kit/Empty";
import { Json } from "../../kit/Json";
import { capitalize, describeTrigger, formatDateTime, formatRelative } from "../../kit/format";
import { refreshAll, useTriggers } from "./queries";
import { Firings, LastPayload } from "./Firings";
import { FormLink } from "./FormLink";
import { Webhook } from "./Webhook";
import type { Detail } from "./automationText";
import { t } from "../../strings";

type Trigger = Schemas["TriggerShape"];

function OnOff({ trigger }: { trigger: Trigger }) {
  const { busy, act } = useAction();
  const may = useHasRole("editor");
  const turn = (enabled: boolean) =>
    act(async () => {
      await client.PATCH("/api/v1/automations/{automation_id}/triggers/{slug}", {
        params: { path: { automation_id: trigger.automation_id, slug: trigger.slug } },
        body: { enabled },
      });
      await refreshAll();
    }, enabled ? t.automation.theTriggerIsOn : t.automation.theTriggerIsOff);
  return (
    <Switch
      checked={trigger.enabled}
      disabled={!may || busy}
      onChange={(event) => void turn(event.currentTarget.checked)}
      label={trigger.enabled ? t.automation.on : t.automation.off2}
      aria-label={t.automation.theTriggerIsOn2(trigger.slug, trigger.enabled)}
    />
  );
}

function NextFires({ trigger, resting }: { trigger: Trigger; resting: boolean }) {
  const zone = String(trigger.config.timezone ?? "UTC");
  if (!trigger.next_fires.length) return null;
  return (
    <div>
      <Title order={3} size="h6" mb={4}>
        {t.automation.nextIfItWereOn(resting || !trigger.enabled, zone)}
      </Title>
      <List size="sm" listStyleType="none">
        {trigger.next_fires.map((at) => (
          <List.Item key={at}>
            <span className="numbers">{formatDateTime(at, zone)}</span>{" "}
            <Text span size="xs" c="dimmed">{formatRelative(at)}</Text>
          </List.Item>
        ))}
      </List>
    </div>
  );
}

function One({ trigger, resting }: { trigger: Trigger; resting: boolean }) {
  const [open, setOpen] = useState<"history" | "payload" | "settings" | null>(null);
  const part = (name: "history" | "payload" | "settings", label: string) => (
    <Button
      size="compact-sm"
      variant={open === name ? "light" : "subtle"}
      color={open === name ? undefined : "gray"}
      aria-expanded={open === name}
      onClick={() => setOpen(open === name ? null : name)}
    >
      {label}
    </Button>
  );
  return (
    <Card withBorder radius="lg" p="lg" component="section">
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <div>
            <Title order={2} size="h5">{capitalize(describeTrigger(trigger))}</Title>
            <Group gap="xs" mt={2}>
              <Code>{trigger.slug}</Code>
              {trigger.last_fired_at
                ? (
                  <Text size="xs" c="dimmed">
                    {t.automation.last2(formatRelative(trigger.last_fired_at))}
                  </Text>
                )
                : null}
              {resting && trigger.enabled
                ? (
                  <Badge size="sm" variant="light" color="gray" tt="none">
                    {t.automation.offWhileTheAutomationIs}
                  </Badge>
                )
                : null}
            </Group>
          </div>
          <OnOff trigger={trigger} />
        </Group>
        <NextFires trigger={trigger} resting={resting} />
        {trigger.form_url ? <FormLink trigger={trigger} url={trigger.form_url} /> : null}
        {trigger.type === "webhook" ? <Webhook trigger={trigger} /> : null}
        <Group gap={4}>
          {part("history", t.automation.retention)}
          {part("payload", t.automation.lastPayload)}
          {part("settings", t.automation.settings2)}
        </Group>
        <Collapse expanded={open !== null}>
          {open === "history" ? <Firings trigger={trigger} /> : null}
          {open === "payload" ? <LastPayload trigger={trigger} /> : null}
          {open === "settings"
            ? (
              <Json
                value={{ config: trigger.config, inputs: trigger.inputs }}
                label={t.automation.theSettingsOf(trigger.slug)}
              />
            )
            : null}
        </Collapse>
      </Stack>
    </Card>
  );
}

export function Triggers({ automation }: { automation: Detail }) {
  const query = useTriggers(automation.id);
  const mayRole = useHasRole("editor");
  const may = mayRole && automation.state !== "archived";
  const edit = `/automations/${automation.id}/edit`;
  return (
    <QueryResult of={query}>
      {({ items }) =>
        items.length
          ? (
            <Stack>
              {items.map((one) => (
                <One
                  key={one.id}
                  trigger={one}
                  resting={automation.state !== "active"}
                />
              ))}
              {may
                ? (
                  <Text size="sm" c="dimmed">
                    {t.automation.addAndChangeTriggersIn(
                      <Anchor
                        component={Link}
                        to={edit}
                        size="sm"
                        underline="always"
                      >
                        {t.automation.theEditor}
                      </Anchor>,
                    )}
                  </Text>
                )
                : null}
            </Stack>
          )
          : (
            <Empty
              icon={Hand}
              title={t.automation.noTriggers}
              actions={may
                ? <Button component={Link} to={edit}>{t.automation.addATrigger}</Button>
                : null}
            >
              {t.automation.aTriggerStartsItAutomatically}
            </Empty>
          )}
    </QueryResult>
  );
}
