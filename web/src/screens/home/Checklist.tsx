// A checklist of first steps that completes itself.

import {
  Anchor,
  Button,
  Card,
  Group,
  Progress,
  SimpleGrid,
  Text,
  ThemeIcon,
  Title,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Check, Circle } from "lucide-react";
import { useSession } from "../../api/session";
import { noteLooked } from "./firstSteps";
import type { Task } from "./homeSummary";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type Props = { tasks: Task[]; wide?: boolean; onHide?: () => void };

export function Checklist({ tasks, wide, onHide }: Props) {
  const done = tasks.filter((one) => one.done).length;
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.home.firstSteps}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">{t.home.firstSteps}</Title>
        <Group gap="sm">
          <Text size="sm" c="dimmed">{t.home.of(done, tasks.length)}</Text>
          {onHide
            ? (
              <Button
                size="compact-sm"
                variant="subtle"
                color="gray"
                onClick={onHide}
              >
                {t.home.hide}
              </Button>
            )
            : null}
        </Group>
      </Group>
      <Progress
        value={(done / tasks.length) * 100}
        mb="md"
        size="sm"
        aria-label={t.home.ofFirstStepsAreDone(done, tasks.length)}
      />
      <SimpleGrid
        cols={wide ? { base: 1, xs: 2, lg: 5 } : 1}
        spacing="sm"
        component="ul"
        m={0}
        p={0}
        style={{ listStyle: "none" }}
      >
        {tasks.map((task) => <Step key={task.to} task={task} />)}
      </SimpleGrid>
    </Card>
  );
}

function Step({ task }: { task: Task }) {
  const { workspace } = useSession();
  const note = () => task.to === "/inbox" && noteLooked(workspace.id);
  return (
    <Group component="li" gap="sm" wrap="nowrap" align="flex-start">
      <ThemeIcon
        size={22}
        radius="xl"
        variant={task.done ? "filled" : "default"}
        mt={1}
      >
        {task.done
          ? <Check size={14} role="img" aria-label={t.home.done} />
          : <Circle size={10} role="img" aria-label={t.home.toDo} />}
      </ThemeIcon>
      <div>
        {task.done
          ? <Text size="sm" c="dimmed" td="line-through">{escapeInvisible(task.label)}</Text>
          : (
            <Anchor component={Link} to={task.to} size="sm" fw={600} onClick={note}>
              {escapeInvisible(task.label)}
            </Anchor>
          )}
        {task.done ? null : <Text size="sm" c="dimmed">{task.text}</Text>}
      </div>
    </Group>
  );
}
