// Notifications on this device: enable, choose kinds, and test.

import { Badge, Button, Checkbox, Group, Stack, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { type Answer, api, client, refresh } from "../../api/client";
import {
  hashOf,
  type Kind,
  ownSubscription,
  subscribe,
  type Support,
  support,
  unsubscribe,
} from "../../api/push";
import { QueryResult } from "../../kit/QueryResult";
import { notifyHint, useAction } from "../../kit/useAction";
import { formatDate, formatRelative } from "../../kit/format";
import { browserName } from "./browsers";
import { Row, Rows } from "./Rows";
import { Section } from "./Section";
import { t } from "../../strings";

type Push = Answer<"read_push">;
type Device = Push["subscriptions"][number];

const PATH = "/api/v1/me/push";
const KINDS: { value: Kind; label: string; text: string }[] = [
  {
    value: "drafts",
    label: t.settings.drafts,
    text: t.settings.aMessageOfAnAutomation,
  },
  {
    value: "questions",
    label: t.settings.questions,
    text: t.settings.anAutomationNeedsYourAnswer,
  },
  {
    value: "failures",
    label: t.settings.failures,
    text: t.settings.anUnattendedRunFailedOr,
  },
];
const MISSING: Record<Exclude<Support, "ready">, string> = {
  blocked: t.settings.thisBrowserBlocksNotificationsFrom,
  insecure: t.settings.notificationsRequireAnHttpsAddress,
  install: t.settings.onAnIphoneOrIpad,
  none: t.settings.thisBrowserCannotReceive,
};

export function PushSettings() {
  const query = api.useQuery("get", PATH);
  return (
    <Section
      title={t.settings.notificationsOnThisDevice}
      description={<>{t.settings.aboutAutomationsThatYouOwn}</>}
    >
      <QueryResult of={query}>{(push) => <Devices push={push} />}</QueryResult>
    </Section>
  );
}

function Devices({ push }: { push: Push }) {
  const [hash, look] = useOwnHash();
  const own = push.subscriptions.find((one) => one.endpoint_hash === hash);
  const others = push.subscriptions.filter((one) => one !== own);
  return (
    <Stack>
      {hash === undefined
        ? null
        : own
        ? <On device={own} onChange={look} />
        : <Off publicKey={push.public_key} onChange={look} />}
      {others.length ? <Others devices={others} /> : null}
    </Stack>
  );
}

/** The hash of this browser's subscription; null: none; undefined: not known yet. */
function useOwnHash(): [string | null | undefined, () => Promise<void>] {
  const [hash, setHash] = useState<string | null>();
  const look = async () => {
    const own = await ownSubscription().catch(() => null);
    setHash(own ? await hashOf(own.endpoint) : null);
    await refresh(PATH);
  };
  useEffect(() => void look(), []);
  return [hash, look];
}

function Off({ publicKey, onChange }: { publicKey: string; onChange: () => Promise<void> }) {
  const { busy, act } = useAction();
  const [state, setState] = useState(support);
  const turnOn = () =>
    act(async () => {
      if (!await subscribe(publicKey)) notifyHint(t.settings.notificationsAreNotAllowed);
      setState(support());
      await onChange();
    });
  if (state !== "ready") return <Text size="sm">{MISSING[state]}</Text>;
  return (
    <Group>
      <Button variant="default" loading={busy} onClick={() => void turnOn()}>
        {t.settings.turnOnNotifications}
      </Button>
    </Group>
  );
}

function On({ device, onChange }: { device: Device; onChange: () => Promise<void> }) {
  const { busy, act } = useAction();
  const [kinds, setKinds] = useState<string[]>(device.kinds);
  const params = { path: { subscription_id: device.id } };
  const choose = async (now: string[]) => {
    setKinds(now);
    const done = await act(async () => {
      await client.PATCH("/api/v1/me/push/subscriptions/{subscription_id}", {
        params,
        body: { kinds: now as Kind[] },
      });
      await refresh(PATH);
    });
    if (!done) setKinds(kinds);
  };
  const test = () =>
    act(async () => {
      try {
        await client.POST("/api/v1/me/push/subscriptions/{subscription_id}/test", { params });
      } finally {
        await refresh(PATH);
      }
    }, t.settings.aTestNotificationWasSent);
  const turnOff = () =>
    act(async () => {
      await client.DELETE("/api/v1/me/push/subscriptions/{subscription_id}", { params });
      await unsubscribe();
      await onChange();
    }, t.settings.notificationsAreOffOnThis);
  return (
    <Stack>
      <Group gap="xs">
        <Badge variant="light" tt="none">{t.settings.on2}</Badge>
        <Text size="sm" c="dimmed">{state(device)}</Text>
      </Group>
      {device.problem ? <Text size="sm" c="red" role="alert">{device.problem}</Text> : null}
      <Checkbox.Group
        label={t.settings.notifyMeAbout}
        value={kinds}
        onChange={(now) => void choose(now)}
      >
        <Stack gap="xs" mt="xs">
          {KINDS.map(({ value, label, text }) => (
            <Checkbox
              key={value}
              value={value}
              label={label}
              description={text}
              disabled={busy}
            />
          ))}
        </Stack>
      </Checkbox.Group>
      <Group>
        <Button variant="default" loading={busy} onClick={() => void test()}>
          {t.settings.sendATestNotification}
        </Button>
        <Button variant="default" disabled={busy} onClick={() => void turnOff()}>
          {t.settings.turnOff}
        </Button>
      </Group>
    </Stack>
  );
}

function Others({ devices }: { devices: Device[] }) {
  const { busy, act } = useAction();
  const remove = (one: Device) =>
    act(async () => {
      await client.DELETE("/api/v1/me/push/subscriptions/{subscription_id}", {
        params: { path: { subscription_id: one.id } },
      });
      await refresh(PATH);
    }, t.settings.noLongerGetsNotifications(browserName(one.label)));
  return (
    <div>
      <Text size="sm" fw={600}>{t.settings.otherDevices}</Text>
      <Rows label={t.settings.otherDevicesThatGetNotifications}>
        {devices.map((one) => (
          <Row key={one.id} title={browserName(one.label)} description={one.problem ?? state(one)}>
            <Button
              size="compact-sm"
              variant="default"
              disabled={busy}
              aria-label={t.settings.remove3(browserName(one.label))}
              onClick={() =>
                void remove(one)}
            >
              {t.settings.remove2}
            </Button>
          </Row>
        ))}
      </Rows>
    </div>
  );
}

const state = (one: Device) =>
  t.settings.since4(
    formatDate(one.created_at),
    one.sent_at
      ? t.settings.lastNotification(formatRelative(one.sent_at))
      : t.settings.noNotificationYet,
  );
