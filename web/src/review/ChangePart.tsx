// What a change does: in sentences, its additional grants, and the diff of the definition.

import { Alert, Box, Card, List, Stack, Text, Title } from "@mantine/core";
import { ShieldAlert } from "lucide-react";
import { Diff } from "../code";
import { WidenedList } from "./GrantList";
import type { Change, Definition, Grant } from "./reviewText";

type Props = {
  change: Change;
  grants: Grant[];
  before?: Definition;
  after: Definition;
  baseVersion?: number | null;
};

const spelled = (definition: Definition) => JSON.stringify(definition, null, 2);

export function ChangePart({ change, grants, before, after, baseVersion }: Props) {
  const text = change.in_words.length ? change.in_words : ["Nothing is different."];
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label="What changes">
      <Title order={2} size="h4" mb="sm">What changes</Title>
      <Stack gap="md">
        <List size="sm" spacing={6}>
          {text.map((one) => <List.Item key={one}>{one}</List.Item>)}
        </List>
        {change.widened.length
          ? (
            <Alert
              color="yellow"
              variant="light"
              icon={<ShieldAlert size={16} />}
              title="It may do more than before"
            >
              <WidenedList widened={change.widened} grants={grants} />
            </Alert>
          )
          : (
            <Text size="sm" c="dimmed">
              It may call nothing that it may not call now.
            </Text>
          )}
        {before
          ? (
            <Box>
              <Text size="sm" c="dimmed" mb={6}>
                {baseVersion ? `Version ${baseVersion}` : "What is in force"}, and what this makes
                of it
              </Text>
              <Diff
                before={spelled(before)}
                after={spelled(after)}
                label="Differences of the definition"
              />
            </Box>
          )
          : null}
      </Stack>
    </Card>
  );
}
