// The automation that the request will change.

import { Anchor, Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "../../api/client";
import { Json } from "../../kit/Json";
import { Status } from "../../kit/Status";
import { t } from "../../strings";

export function ChangedAutomation({ automation }: { automation: Schemas["AutomationDetail"] }) {
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.create.currentVersion}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h5">{t.create.currentVersion}</Title>
          <Status value={automation.state} />
        </Group>
        {automation.goal ? <Text size="sm">{automation.goal}</Text> : null}
        <Text size="sm" c="dimmed">{t.create.versionIsActive(automation.version)}</Text>
        <Json value={automation.definition} label={t.create.theActiveDefinition} most={320} />
        <Text size="sm">
          <Anchor
            component={Link}
            to="/automations/$automationId/edit"
            params={{ automationId: automation.id } as never}
          >
            {t.create.editTheFormInstead}
          </Anchor>
        </Text>
      </Stack>
    </Card>
  );
}
