// The automation that the request will change.

import { Anchor, Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "../../api/client";
import { Json } from "../../kit/Json";
import { Status } from "../../kit/Status";

export function ChangedAutomation({ automation }: { automation: Schemas["AutomationDetail"] }) {
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label="As it is now">
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h5">As it is now</Title>
          <Status value={automation.state} />
        </Group>
        {automation.goal ? <Text size="sm">{automation.goal}</Text> : null}
        <Text size="sm" c="dimmed">Version {automation.version} is in force.</Text>
        <Json value={automation.definition} label="the definition in force" most={320} />
        <Text size="sm">
          <Anchor
            component={Link}
            to="/automations/$automationId/edit"
            params={{ automationId: automation.id } as never}
          >
            Edit the form instead
          </Anchor>
        </Text>
      </Stack>
    </Card>
  );
}
