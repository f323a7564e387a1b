// Board tasks that are due soon, and recently completed ones.

import { Anchor, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Status } from "../../kit/Status";
import { escapeInvisible } from "../../kit/format";
import type { WorkflowDetail } from "./progress";
import { Panel } from "./Panel";
import { t } from "../../strings";

const MOST = 8;

export function Tasks({ held }: { held: WorkflowDetail }) {
  const { standing, board_id: board } = held;
  if (!standing || !board) return null;
  const { tasks_due: due, tasks_done: done } = standing;
  return (
    <Panel
      title={t.workflows.tasks}
      right={
        <Anchor component={Link} to={`/boards/${board}`} size="sm">{t.workflows.showAll}</Anchor>
      }
    >
      <Stack gap="sm">
        {due.slice(0, MOST).map((one) => (
          <Group key={one.key} justify="space-between" wrap="nowrap">
            <div>
              <Text size="sm" fw={600}>{escapeInvisible(one.title ?? "")}</Text>
              <Text size="sm" c="dimmed">{t.workflows.due(one.owner, one.due)}</Text>
            </div>
            <Status
              value={one.overdue ? "failed" : "waiting"}
              label={one.overdue ? t.workflows.overdue : t.workflows.due2}
            />
          </Group>
        ))}
        {due.length > MOST
          ? <Text size="sm" c="dimmed">{t.workflows.andMore(due.length - MOST)}</Text>
          : null}
        <Text size="sm" c="dimmed">
          {due.length ? "" : t.workflows.noTasksAreDueWithin}
          {done.length ? t.workflows.taskDoneInTheLast(done.length) : ""}
        </Text>
      </Stack>
    </Panel>
  );
}
