// The result of saving, above the form.

import { Alert, Anchor, Box, Button, Group, List, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CircleCheck, GitMerge } from "lucide-react";
import { useState } from "react";
import { Diff } from "../../code";
import { ProblemNote } from "../../kit/QueryResult";
import { formatCount } from "../../kit/format";
import { AdditionText } from "../../review/AdditionText";
import type { Clash, Saved } from "./useSaving";

export function SavedNote({ saved }: { saved: Saved }) {
  const asks = saved.consent;
  return (
    <Alert
      color={asks ? "yellow" : "teal"}
      variant="light"
      icon={<CircleCheck size={16} />}
      role="status"
      title={saved.changed ? `Saved as version ${saved.version}` : "Nothing changed"}
    >
      <Stack gap="xs">
        {asks
          ? (
            <>
              <Text size="sm">
                This version may do more than a person has agreed to. It goes on once somebody says
                yes:
              </Text>
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
            ? (
              <Anchor component={Link} to="/inbox" size="sm">
                Decide in the inbox
              </Anchor>
            )
            : null}
          <Anchor component={Link} to={`/automations/${saved.id}`} size="sm">
            Open the automation
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
      title="Somebody was quicker"
    >
      <Stack gap="xs">
        <Text size="sm">
          {version
            ? `Version ${version.version} was saved by ${by} while you were writing. `
            : "Another version was saved while you were writing. "}
          What you wrote is still here. See what they changed, bring it in where it matters, and
          save on top of it.
        </Text>
        <Group gap="xs">
          <Button size="compact-sm" variant="default" onClick={() => show(!isShown)}>
            {isShown ? "Hide" : "Show"} what they changed
          </Button>
          {version
            ? (
              <Button
                size="compact-sm"
                onClick={() => onBuildOn(version.version, definition)}
              >
                Save mine on top of version {version.version}
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
                label="What they changed"
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
      {findings
        ? (
          <Text size="sm" c="dimmed">
            {formatCount(findings, "place")} below {findings === 1 ? "says" : "say"} why.
          </Text>
        )
        : null}
    </Stack>
  );
}
