// The link of a form: copy, open, and replace it.

import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { ExternalLink } from "lucide-react";
import { client, type Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useConfirm } from "../../kit/Confirm";
import { CopyIcon } from "../../kit/Copy";
import { useAction } from "../../kit/useAction";
import { refreshAll } from "./queries";
import { t } from "../../strings";

type Trigger = Schemas["TriggerShape"];

export function FormLink({ trigger, url }: { trigger: Trigger; url: string }) {
  const may = useHasRole("editor");
  const { busy, act } = useAction();
  const confirm = useConfirm();
  const isPublic = trigger.config.access !== "members";
  const replace = async () => {
    const yes = await confirm({
      title: t.automation.replaceTheLink,
      message: t.automation.theCurrentLinkEnds,
      yes: t.automation.replaceLink,
      dangerous: true,
    });
    if (!yes) return;
    await act(async () => {
      await client.POST("/api/v1/automations/{automation_id}/triggers/{slug}/link", {
        params: { path: { automation_id: trigger.automation_id, slug: trigger.slug } },
      });
      await refreshAll();
    }, t.automation.theLinkIsReplaced);
  };
  return (
    <Stack gap="xs">
      <Group gap="xs" wrap="nowrap">
        <Code className="wrap-anywhere">{url}</Code>
        <CopyIcon text={url} label={t.automation.copyTheFormLink} />
      </Group>
      <Text size="sm" c="dimmed">
        {isPublic ? t.automation.anyoneWithTheLink : t.automation.membersWithTheLink}
      </Text>
      <Group gap="xs">
        <Button
          component="a"
          href={new URL(url).pathname}
          target="_blank"
          rel="noreferrer"
          size="compact-sm"
          variant="default"
          rightSection={<ExternalLink size={14} aria-hidden />}
        >
          {t.automation.openTheForm}
        </Button>
        {may
          ? (
            <Button
              size="compact-sm"
              variant="subtle"
              color="red"
              loading={busy}
              onClick={() => void replace()}
            >
              {t.automation.replaceLink}
            </Button>
          )
          : null}
      </Group>
    </Stack>
  );
}
