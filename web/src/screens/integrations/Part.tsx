// One section of a screen, with a heading.

import { Card, Text } from "@mantine/core";
import type { ReactNode } from "react";

export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={title}>
      <Text component="h2" fw={650} size="lg" mb="sm">{title}</Text>
      {children}
    </Card>
  );
}
