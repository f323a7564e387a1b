// One section of the settings: description on the left, controls on the right.

import { Card, Grid, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

type Props = { title: string; description?: ReactNode; children: ReactNode };

export function Section({ title, description, children }: Props) {
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={title}>
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Title order={2} size="h4">{title}</Title>
          {description
            ? <Text c="dimmed" size="sm" mt={4} component="div">{description}</Text>
            : null}
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 8 }}>{children}</Grid.Col>
      </Grid>
    </Card>
  );
}

/** A form or a list alone, in one column. */
export function Sections({ children }: { children: ReactNode }) {
  return <Stack gap="md">{children}</Stack>;
}
