// The deadlines of a workflow, in order, with the remaining days.

import { Button, Group, Stack, Text } from "@mantine/core";
import { Pencil } from "lucide-react";
import { useState } from "react";
import { Status } from "../../kit/Status";
import { escapeInvisible, formatDate } from "../../kit/format";
import { daysTo, describeDistance, todayOf, type WorkflowDetail } from "./progress";
import { EditDeadlines } from "./EditForms";
import { Panel } from "./Panel";
import { t } from "../../strings";

const NEAR = 7;
const statusOf = (days: number) => days < 0 || days > NEAR ? "quiet" : "waiting";

export function Deadlines({ held, may }: { held: WorkflowDetail; may: boolean }) {
  const [editing, setEditing] = useState(false);
  const today = todayOf();
  const sorted = [...held.deadlines].sort((one, two) => one.date.localeCompare(two.date));
  return (
    <Panel
      title={t.workflows.deadlines}
      right={may
        ? (
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<Pencil size={13} />}
            onClick={() => setEditing(true)}
            aria-label={t.workflows.editTheDeadlines}
          >
            {sorted.length ? t.workflows.edit : t.workflows.add}
          </Button>
        )
        : null}
    >
      {sorted.length
        ? (
          <Stack gap="sm">
            {sorted.map((one) => {
              const days = daysTo(one.date, today);
              return (
                <Group
                  key={one.label + one.date}
                  justify="space-between"
                  wrap="nowrap"
                >
                  <div>
                    <Text
                      size="sm"
                      fw={600}
                      c={days < 0 ? "dimmed" : undefined}
                    >
                      {escapeInvisible(one.label)}
                    </Text>
                    <Text size="sm" c="dimmed">{formatDate(one.date)}</Text>
                  </div>
                  <Status value={statusOf(days)} label={describeDistance(days)} />
                </Group>
              );
            })}
          </Stack>
        )
        : <Text size="sm" c="dimmed">{t.workflows.noDeadlines}</Text>}
      {editing ? <EditDeadlines held={held} onClose={() => setEditing(false)} /> : null}
    </Panel>
  );
}
