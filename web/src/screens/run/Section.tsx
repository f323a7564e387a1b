// One section of the details of a step or a run.

import { Box, Group, Title } from "@mantine/core";
import type { ReactNode } from "react";

type Props = { title: string; right?: ReactNode; children: ReactNode };

export function Section({ title, right, children }: Props) {
  return (
    <Box component="section">
      <Group justify="space-between" mb={6}>
        <Title order={3} size="sm">{title}</Title>
        {right}
      </Group>
      {children}
    </Box>
  );
}
