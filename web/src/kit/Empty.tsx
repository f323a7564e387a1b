// The empty state of a list: what belongs here and how to add it.

import { Card, Group, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

type Props = { icon: LucideIcon; title: string; children?: ReactNode; actions?: ReactNode };

export function Empty({ icon: Icon, title, children, actions }: Props) {
  return (
    <Card withBorder radius="lg" p="xl">
      <Stack align="center" gap="sm" py="lg" ta="center">
        <ThemeIcon size={48} radius="xl" variant="light">
          <Icon size={24} aria-hidden />
        </ThemeIcon>
        <Title order={2} size="h4">{title}</Title>
        {children ? <Text c="dimmed" size="sm" maw={460} component="div">{children}</Text> : null}
        {actions ? <Group gap="xs" mt="xs" justify="center">{actions}</Group> : null}
      </Stack>
    </Card>
  );
}
