// A list of entries with a description and an action each.

import { Box, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import "../../kit/ruled.css";

type Props = { title: ReactNode; description: ReactNode; children?: ReactNode };

export function Row({ title, description, children }: Props) {
  return (
    <Group
      justify="space-between"
      gap="sm"
      py="sm"
      component="li"
    >
      <Box style={{ minWidth: 0, flex: "1 1 16rem" }}>
        <Text fw={600} size="sm" component="div" className="wrap-anywhere">{title}</Text>
        <Text size="sm" c="dimmed" component="div" className="wrap-anywhere">{description}</Text>
      </Box>
      {children ? <Group gap="xs">{children}</Group> : null}
    </Group>
  );
}

export function Rows({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Stack
      gap={0}
      component="ul"
      className="ruled"
      aria-label={label}
      m={0}
      p={0}
      style={{ listStyle: "none" }}
    >
      {children}
    </Stack>
  );
}
