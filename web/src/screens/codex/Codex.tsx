// The codex: recipes, installed recipes, and recently uninstalled ones.

import {
  Anchor,
  Badge,
  Box,
  Card,
  Group,
  Select,
  SimpleGrid,
  Stack,
  Tabs,
  Text,
  TextInput,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { BookOpen, Search } from "lucide-react";
import { api } from "../../api/client";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { Status } from "../../kit/Status";
import { capitalize, escapeInvisible } from "../../kit/format";
import { Installs } from "./Installs";
import { KINDS, type Recipe } from "./recipes";
import { Uninstalled } from "./Uninstalled";
import { t } from "../../strings";

const MOST = 100;

export default function Codex() {
  const [{ tab = "recipes" }, change] = useUrlState();
  const installs = api.useQuery("get", "/api/v1/installs");
  const gone = api.useQuery("get", "/api/v1/uninstalled");
  const updates =
    installs.data?.installs.filter((one) => one.update_available && !one.bundle).length ?? 0;
  return (
    <>
      <PageHead
        title={t.codex.recipes}
        sub={t.codex.readyMadeAutomationsEachLists}
        right={
          <CopyAs
            operations={[{
              label: t.codex.listRecipes,
              operation: {
                method: "GET",
                path: "/api/v1/recipes",
                tool: "list_starter_recipes",
              },
            }]}
          />
        }
      />
      <Tabs
        value={tab}
        onChange={(value) => change({ tab: value === "recipes" ? undefined : value ?? undefined })}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="recipes">{t.codex.browse}</Tabs.Tab>
          <Tabs.Tab
            value="installed"
            rightSection={updates
              ? (
                <Badge size="sm" circle aria-label={t.codex.updates(updates)}>
                  {updates}
                </Badge>
              )
              : null}
          >
            {t.codex.installed}
          </Tabs.Tab>
          <Tabs.Tab value="gone">{t.codex.uninstalled}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="recipes">
          <RecipeList />
        </Tabs.Panel>
        <Tabs.Panel value="installed">
          <QueryResult of={installs}>
            {({ installs: held }) => <Installs held={held} />}
          </QueryResult>
        </Tabs.Panel>
        <Tabs.Panel value="gone">
          <QueryResult of={gone}>
            {({ uninstalled }) => <Uninstalled held={uninstalled} />}
          </QueryResult>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

function RecipeList() {
  const [{ search = "", kind, category }, change] = useUrlState();
  const [text] = useDebouncedValue(search.trim(), 200);
  const all = api.useQuery("get", "/api/v1/recipes", { params: { query: { limit: MOST } } });
  const found = api.useQuery("get", "/api/v1/recipes", {
    params: {
      query: {
        limit: MOST,
        search: text || undefined,
        kind: KINDS.find((one) => one === kind),
        category,
      },
    },
  }, { placeholderData: (before) => before });
  const categories = [...new Set(all.data?.recipes.map((one) => one.category).filter(Boolean))]
    .sort();
  return (
    <>
      <Group mb="md" gap="sm">
        <TextInput
          flex="1 1 14rem"
          leftSection={<Search size={15} aria-hidden />}
          placeholder={t.codex.whatShouldItDo}
          aria-label={t.codex.searchRecipes}
          value={search}
          onChange={(event) => change({ search: event.currentTarget.value })}
        />
        <Select
          aria-label={t.codex.kind}
          placeholder={t.codex.anyKind}
          clearable
          data={KINDS.map((value) => ({ value, label: capitalize(value) }))}
          value={kind ?? null}
          onChange={(value) => change({ kind: value ?? undefined })}
        />
        <Select
          aria-label={t.codex.category}
          placeholder={t.codex.anyCategory}
          clearable
          data={categories}
          value={category ?? null}
          onChange={(value) => change({ category: value ?? undefined })}
        />
      </Group>
      <QueryResult of={found} lines={6}>
        {({ recipes }) =>
          recipes.length
            ? (
              <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
                {recipes.map((one) => <Entry key={one.id} one={one} />)}
              </SimpleGrid>
            )
            : (
              <Empty icon={BookOpen} title={t.codex.noMatchingRecipes}>
                {t.codex.tryFewerWordsOr(
                  <Anchor component={Link} to="/new">{t.codex.describeYourOwn}</Anchor>,
                )}
              </Empty>
            )}
      </QueryResult>
    </>
  );
}

function Entry({ one }: { one: Recipe }) {
  return (
    <Card withBorder radius="lg" p="md">
      <Stack gap={6} h="100%">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Anchor component={Link} to={`/codex/${one.slug}`} fw={650}>
            {escapeInvisible(one.name)}
          </Anchor>
          {one.update_available
            ? <Status value="waiting" label={t.codex.updateAvailable2} />
            : one.installed > 0
            ? <Status value="ok" label={t.codex.installed2} />
            : null}
        </Group>
        <Text size="sm" c="dimmed" lineClamp={3} flex={1}>{one.description_excerpt}</Text>
        <Box>
          <Text size="xs" c="dimmed">
            {[capitalize(one.kind), one.category, t.codex.by(one.version, one.author)]
              .filter(Boolean).join(" · ")}
          </Text>
        </Box>
      </Stack>
    </Card>
  );
}
