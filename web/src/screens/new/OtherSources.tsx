// Other ways to start: a recipe, JSON, or a script.

import { Card, Group, SimpleGrid, Stack, Text, ThemeIcon } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { BookOpen, Braces, FileCode2, type LucideIcon } from "lucide-react";
import { t } from "../../strings";

type Way = {
  to: string;
  search?: Record<string, string>;
  icon: LucideIcon;
  title: string;
  text: string;
};

const WAYS: Way[] = [
  {
    to: "/codex",
    icon: BookOpen,
    title: t.create.startFromARecipe,
    text: t.create.readyMadeAutomationsWithA,
  },
  {
    to: "/automations/new/edit",
    search: { from: "json" },
    icon: Braces,
    title: t.create.writeJson,
    text: t.create.theFullDefinitionInA,
  },
  {
    to: "/automations/new/edit",
    search: { from: "script" },
    icon: FileCode2,
    title: t.create.writeAScript,
    text: t.create.typescriptWithTypesForEvery,
  },
];

export function OtherSources() {
  return (
    <SimpleGrid
      cols={{ base: 1, sm: 3, lg: 1 }}
      spacing="sm"
      component="nav"
      aria-label={t.create.otherWaysToStart}
    >
      {WAYS.map(({ to, search, icon: Icon, title, text }) => (
        <Card
          key={title}
          withBorder
          radius="lg"
          p="md"
          component={Link}
          to={to}
          search={search as never}
          className="row-link"
        >
          <Group gap="sm" wrap="nowrap" align="flex-start">
            <ThemeIcon variant="light" size={36} radius="md">
              <Icon size={18} aria-hidden />
            </ThemeIcon>
            <Stack gap={2}>
              <Text fw={600} size="sm">{title}</Text>
              <Text size="sm" c="dimmed">{text}</Text>
            </Stack>
          </Group>
        </Card>
      ))}
    </SimpleGrid>
  );
}
