// The result of saving, above the form.

import { Alert, Anchor, Box, Button, Group, List, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CircleCheck, GitMerge } from "lucide-react";
import { useState } from "react";
import { Diff } from "../../code";
import { ProblemNote } from "../../kit/QueryResult";
import { AdditionText } from "../../review/AdditionText";
import type { Clash, Saved } from "./useSaving";
import { t } from "../../strings";

export function SavedNote({ saved }: { saved: Saved }) {
  const asks = saved.consent;
  return (
    <Alert
      color={asks ? "yellow" : "teal"}
      variant="light"
      icon={<CircleCheck size={16} />}
      role="status"
      title={saved.changed ? t.edit.savedAsVersion(saved.version) : t.edit.noChanges}
    >
      <Stack gap="xs">
        {asks
          ? (
            <>
              <Text size="sm">{t.edit.thisVersionHasMorePermissions}</Text>
              <List size="sm">
                {asks.additions.map((one) => (
                  <List.Item key={one.pointer + one.says}>
                    <AdditionText says={one.says} />
                  </List.Item>
                ))}
              </List>
            </>
          )
          : null}
        <Group gap="md">
          {asks
            ? <Anchor component={Link} to="/inbox" size="sm">{t.edit.decideInTheInbox}</Anchor>
            : null}
          <Anchor component={Link} to={`/automations/${saved.id}`} size="sm">
            {t.edit.openTheAutomation}
          </Anchor>
        </Group>
      </Stack>
    </Alert>
  );
}

type ClashProps = {
  clash: Clash;
  base: unknown;
  onBuildOn: (version: number, definition: unknown) => void;
};

/** A conflict: somebody saved another version; the local draft is kept. */
export function ClashNote({ clash, base, onBuildOn }: ClashProps) {
  const [isShown, show] = useState(false);
  const { version, by, definition } = clash;
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<GitMerge size={16} />}
      role="alert"
      title={t.edit.someoneSavedAnotherVersion}
    >
      <Stack gap="xs">
        <Text size="sm">
          {t.edit.yourChangesAreStillHere(
            version
              ? t.edit.versionWasSavedByWhile(version.version, by)
              : t.edit.anotherVersionWasSavedWhile,
          )}
        </Text>
        <Group gap="xs">
          <Button size="compact-sm" variant="default" onClick={() => show(!isShown)}>
            {t.edit.hideTheirChanges(isShown)}
          </Button>
          {version
            ? (
              <Button
                size="compact-sm"
                onClick={() => onBuildOn(version.version, definition)}
              >
                {t.edit.saveOnTopOfVersion(version.version)}
              </Button>
            )
            : null}
        </Group>
        {isShown
          ? (
            <Box>
              <Diff
                before={JSON.stringify(base, null, 2)}
                after={JSON.stringify(definition, null, 2)}
                label={t.edit.theirChanges}
              />
            </Box>
          )
          : null}
      </Stack>
    </Alert>
  );
}

export function RefusedNote({ problem, findings }: { problem: unknown; findings: number }) {
  return (
    <Stack gap="xs">
      <ProblemNote problem={problem} />
      {findings ? <Text size="sm" c="dimmed">{t.edit.seeTheFindingBelow(findings)}</Text> : null}
    </Stack>
  );
}
