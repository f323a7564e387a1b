// One part of a workflow: a card with a heading and actions.

import { Card, Group, Text } from "@mantine/core";
import { type ReactNode, useId } from "react";

type Props = { title: string; right?: ReactNode; children: ReactNode };

export function Panel({ title, right, children }: Props) {
  const id = useId();
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-labelledby={id}>
      <Group justify="space-between" mb="sm" mih={30}>
        <Text component="h2" id={id} fw={650}>{title}</Text>
        {right}
      </Group>
      {children}
    </Card>
  );
}
