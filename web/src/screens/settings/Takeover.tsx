// What a former member owned: its grants and missing requirements, to be taken over.

import { Alert, Button, Checkbox, Group, List, Modal, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { api, client, refresh, type Schemas } from "../../api/client";
import { QueryResult } from "../../kit/QueryResult";
import { useAction } from "../../kit/useAction";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type UnownedResources = Schemas["EstateShape"];
type Left = Schemas["LeftAutomationShape"];

function Automation({ one }: { one: Left }) {
  return (
    <Stack gap={4}>
      <Text fw={600} size="sm" className="wrap-anywhere">
        {one.name}
        {one.stopped ? t.settings.stoppedWhenItsOwnerLeft : ` · ${one.state}`}
        {one.missed ? ` · ${t.counts.missedRuns(one.missed)}` : ""}
      </Text>
      <List size="sm" aria-label={t.settings.permissionsOf(one.name)}>
        {one.may.map((text) => <List.Item key={text}>{text}</List.Item>)}
      </List>
      {one.missing.length
        ? (
          <Alert color="yellow" variant="light" title={t.settings.youMustAddOrConnect}>
            <List size="sm">
              {one.missing.map((lack) => (
                <List.Item key={lack.pointer + lack.code}>{lack.detail}</List.Item>
              ))}
            </List>
          </Alert>
        )
        : null}
    </Stack>
  );
}

function Body(
  { unowned, only, close }: { unowned: UnownedResources; only?: string; close: () => void },
) {
  const { busy, act } = useAction();
  const [replay, setReplay] = useState(false);
  const shown = only ? unowned.automations.filter((one) => one.id === only) : unowned.automations;
  const take = () =>
    act(async () => {
      await client.POST("/api/v1/members/{member_id}/takeover", {
        params: { path: { member_id: unowned.member.id } },
        body: { digest: unowned.digest, automations: only ? [only] : null, replay_missed: replay },
      });
      close();
      await refresh("/api/v1/members", "/api/v1/automations");
    }, t.settings.youAreTheOwnerNow);
  return (
    <Stack>
      <Text size="sm">{t.settings.youBecomeTheOwnerAnd}</Text>
      {shown.map((one) => <Automation key={one.id} one={one} />)}
      {only
        ? null
        : unowned.webhooks.map((one) => (
          <Text key={one.automation_id + one.slug} size="sm">
            {t.settings.theWebhookTokenOf(one.automation, one.slug)}
          </Text>
        ))}
      {shown.some((one) => one.missed)
        ? (
          <Checkbox
            label={t.settings.replayMissedStarts}
            description={t.settings.everyWebhookCallAndEvent}
            checked={replay}
            onChange={(event) => setReplay(event.currentTarget.checked)}
          />
        )
        : null}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={close}>{t.settings.cancel}</Button>
        <Button loading={busy} onClick={() => void take()}>{t.settings.takeOver}</Button>
      </Group>
    </Stack>
  );
}

type Props = { memberId: string; name: string; only?: string };

/** A button that shows what a former member owned, and transfers all of it or one automation. */
export function Takeover({ memberId, name, only }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={name ? t.settings.takeOverFrom(name) : undefined}
        onClick={() => setOpen(true)}
      >
        {t.settings.takeOver2}
      </Button>
      {open ? <Shown memberId={memberId} only={only} close={() => setOpen(false)} /> : null}
    </>
  );
}

function Shown({ memberId, only, close }: { memberId: string; only?: string; close: () => void }) {
  const params = { path: { member_id: memberId } };
  const unowned = api.useQuery("get", "/api/v1/members/{member_id}/takeover", { params });
  const from = unowned.data?.member.name || unowned.data?.member.email;
  return (
    <Modal
      opened
      onClose={close}
      title={from ? t.settings.takeOverFrom(escapeInvisible(from)) : t.settings.takeOver}
      size="lg"
      centered
    >
      <QueryResult of={unowned}>
        {(found) => <Body unowned={found} only={only} close={close} />}
      </QueryResult>
    </Modal>
  );
}
