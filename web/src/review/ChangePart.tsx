// What a change does: in sentences, its additional grants, and the diff of the definition.

import { Alert, Box, Card, List, Stack, Text, Title } from "@mantine/core";
import { ShieldAlert } from "lucide-react";
import { Diff } from "../code";
import { WidenedList } from "./GrantList";
import type { Change, Definition, Grant } from "./reviewText";
import { t } from "../strings";

type Props = {
  change: Change;
  grants: Grant[];
  before?: Definition;
  after: Definition;
  baseVersion?: number | null;
};

const spelled = (definition: Definition) => JSON.stringify(definition, null, 2);

export function ChangePart({ change, grants, before, after, baseVersion }: Props) {
  const text = change.in_words.length ? change.in_words : [t.review.noDifferences];
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.review.changes}>
      <Title order={2} size="h4" mb="sm">{t.review.changes}</Title>
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
              title={t.review.itGetsNewPermissions}
            >
              <WidenedList widened={change.widened} grants={grants} />
            </Alert>
          )
          : <Text size="sm" c="dimmed">{t.review.itGetsNoNewPermissions}</Text>}
        {before
          ? (
            <Box>
              <Text size="sm" c="dimmed" mb={6}>
                {t.review.comparedWithThisProposal(
                  baseVersion ? t.review.version(baseVersion) : t.review.theActiveVersion,
                )}
              </Text>
              <Diff
                before={spelled(before)}
                after={spelled(after)}
                label={t.review.differencesOfTheDefinition}
              />
            </Box>
          )
          : null}
      </Stack>
    </Card>
  );
}
