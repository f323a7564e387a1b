// The empty state: ways to create an automation.

import { Anchor, Button, Code, List } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Archive, SearchX, Workflow } from "lucide-react";
import { Empty } from "../../kit/Empty";
import { t } from "../../strings";

export function NoneYet() {
  return (
    <Empty
      icon={Workflow}
      title={t.automations.noAutomationsYet}
      actions={
        <>
          <Button component={Link} to="/new">{t.automations.describeOne}</Button>
          <Button component={Link} to="/codex" variant="default">
            {t.automations.startFromARecipe}
          </Button>
        </>
      }
    >
      {t.automations.aNewAutomationStaysPaused}
      <List size="sm" ta="left" mt="sm" spacing={6}>
        <List.Item>
          {t.automations.andReviewTheProposal(
            <Anchor component={Link} to="/new" size="sm" underline="always">
              {t.automations.describeWhatShouldHappen}
            </Anchor>,
          )}
        </List.Item>
        <List.Item>
          {t.automations.andAdaptIt(
            <Anchor component={Link} to="/codex" size="sm" underline="always">
              {t.automations.installARecipe}
            </Anchor>,
          )}
        </List.Item>
        <List.Item>
          {t.automations.useAnAssistantOverOr(
            <Anchor component={Link} to="/connect" size="sm" underline="always">
              {t.automations.mcp}
            </Anchor>,
            <Code>mainspring save orders.ts</Code>,
          )}
        </List.Item>
      </List>
    </Empty>
  );
}

export function NoneFound({ clear }: { clear: () => void }) {
  return (
    <Empty
      icon={SearchX}
      title={t.automations.noMatchingAutomations}
      actions={<Button variant="default" onClick={clear}>{t.automations.showAll}</Button>}
    >
      {t.automations.searchLooksAtNamesAnd}
    </Empty>
  );
}

export function NoneArchived() {
  return (
    <Empty icon={Archive} title={t.automations.noArchivedAutomations}>
      {t.automations.archivedAutomationsKeepTheir}
    </Empty>
  );
}
