// The welcome screen: a text box, a few recipes that need no setup, and connecting an assistant.

import {
  Badge,
  Button,
  Card,
  Grid,
  Group,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Textarea,
  ThemeIcon,
  Title,
} from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { ArrowRight, CloudSun, Globe, HeartPulse, type LucideIcon, Plug, Rss } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useState } from "react";
import { api } from "../../api/client";
import { Checklist } from "./Checklist";
import type { Task } from "./homeSummary";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

const IDEAS = [
  t.home.everyWeekdayAt9Remind,
  t.home.watchHttpsExampleOrgEvery,
  t.home.everyFridayAt1600,
];

// An example may take two lines; it is not truncated.
const IDEA = {
  whiteSpace: "normal",
  textAlign: "left",
  lineHeight: 1.4,
  overflow: "visible",
} as const;

export function Welcome({ tasks }: { tasks: Task[] }) {
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, lg: 8 }}>
        <Stack>
          <DescriptionBox />
          <Starters />
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 4 }}>
        <Stack>
          <Checklist tasks={tasks} />
          <Assistant />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

function DescriptionBox() {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const go = () =>
    void navigate({
      to: "/new",
      search: (text.trim() ? { words: text.trim(), go: "1" } : {}) as never,
    });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    go();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go();
  };
  return (
    <Card withBorder radius="lg" p={{ base: "md", sm: "xl" }}>
      <form onSubmit={submit}>
        <Stack>
          <Textarea
            label={t.home.describeWhatShouldHappen}
            description={t.home.inYourOwnWordsYou}
            placeholder={IDEAS[0]}
            autosize
            minRows={3}
            maxRows={10}
            maxLength={8000}
            size="md"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
          <Group gap="xs">
            {IDEAS.map((idea) => (
              <Button
                key={idea}
                size="compact-sm"
                variant="light"
                color="gray"
                fw={500}
                h="auto"
                py={4}
                styles={{ label: IDEA }}
                onClick={() => setText(idea)}
              >
                {idea}
              </Button>
            ))}
          </Group>
          <Group justify="space-between">
            <Button
              component={Link}
              to="/new"
              variant="subtle"
              color="gray"
              size="compact-sm"
            >
              {t.home.otherWaysToStart}
            </Button>
            <Button
              type="submit"
              disabled={!text.trim()}
              rightSection={<ArrowRight size={16} />}
            >
              {t.home.createAProposal}
            </Button>
          </Group>
        </Stack>
      </form>
    </Card>
  );
}

// These need no account, no key and no model: they work a minute after they were chosen.
const STARTERS: { slug: string; icon: LucideIcon }[] = [
  { slug: "weather-briefing", icon: CloudSun },
  { slug: "website-change-watch", icon: Globe },
  { slug: "uptime-check", icon: HeartPulse },
  { slug: "rss-to-board", icon: Rss },
];

function Starters() {
  const recipes = api.useQuery("get", "/api/v1/recipes", { params: { query: { limit: 100 } } });
  const found = STARTERS.flatMap(({ slug, icon }) => {
    const recipe = recipes.data?.recipes.find((one) => one.slug === slug);
    return recipe ? [{ recipe, icon }] : [];
  });
  if (!recipes.isPending && !found.length) return null;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">{t.home.orStartFromARecipe}</Title>
        <Button
          component={Link}
          to="/codex"
          variant="subtle"
          size="compact-sm"
          rightSection={<ArrowRight size={14} />}
        >
          {t.home.allRecipes}
        </Button>
      </Group>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {recipes.isPending
          ? STARTERS.map(({ slug }) => <Skeleton key={slug} h={118} radius="lg" />)
          : null}
        {found.map(({ recipe, icon: Icon }) => (
          <Card
            key={recipe.slug}
            withBorder
            radius="lg"
            p="md"
            component={Link}
            to={`/codex/${recipe.slug}`}
            className="row-link"
          >
            <Group gap="sm" mb={6}>
              <ThemeIcon variant="light" radius="md" size={32}>
                <Icon size={18} aria-hidden />
              </ThemeIcon>
              <Text fw={600}>{escapeInvisible(recipe.name)}</Text>
              <Badge variant="light" color="gray" tt="none">{recipe.category}</Badge>
            </Group>
            <Text size="sm" c="dimmed">{recipe.description_excerpt}</Text>
          </Card>
        ))}
      </SimpleGrid>
    </Stack>
  );
}

function Assistant() {
  return (
    <Card withBorder radius="lg" p="lg">
      <Group gap="sm" mb="xs">
        <ThemeIcon variant="light" radius="md" size={32}>
          <Plug size={18} aria-hidden />
        </ThemeIcon>
        <Title order={2} size="h4">{t.home.connectYourAssistant}</Title>
      </Group>
      <Text size="sm" c="dimmed" mb="sm">{t.home.anAssistantThatSupportsMcp}</Text>
      <Button component={Link} to="/connect" variant="default">{t.home.seeHow}</Button>
    </Card>
  );
}
