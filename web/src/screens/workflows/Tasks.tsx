// Board tasks that are due soon, and recently completed ones.

import { Anchor, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Status } from "../../kit/Status";
import { escapeInvisible, formatCount } from "../../kit/format";
import type { WorkflowDetail } from "./progress";
import { Panel } from "./Panel";

const MOST = 8;

export function Tasks({ held }: { held: WorkflowDetail }) {
  const { standing, board_id: board } = held;
  if (!standing || !board) return null;
  const { tasks_due: due, tasks_done: done } = standing;
  return (
    <Panel
      title="Tasks"
      right={
        <Anchor component={Link} to={`/boards/${board}`} size="sm">
          All of them
        </Anchor>
      }
    >
      <Stack gap="sm">
        {due.slice(0, MOST).map((one) => (
          <Group key={one.key} justify="space-between" wrap="nowrap">
            <div>
              <Text size="sm" fw={600}>{escapeInvisible(one.title ?? "")}</Text>
              <Text size="sm" c="dimmed">{one.owner}, due {one.due}</Text>
            </div>
            <Status
              value={one.overdue ? "failed" : "waiting"}
              label={one.overdue ? "overdue" : "due"}
            />
          </Group>
        ))}
        {due.length > MOST ? <Text size="sm" c="dimmed">and {due.length - MOST} more</Text> : null}
        <Text size="sm" c="dimmed">
          {due.length ? "" : "None is due within a day. "}
          {done.length ? `${formatCount(done.length, "task")} done in the last seven days.` : ""}
        </Text>
      </Stack>
    </Panel>
  );
}
