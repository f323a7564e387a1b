// One recipe: what it creates, its grants, its requirements, and installing it.

import { Accordion, Anchor, Card, Code, Grid, List, Stack, Text } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Answer, api } from "../../api/client";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Json } from "../../kit/Json";
import { PageHead } from "../../kit/PageHead";
import { Status } from "../../kit/Status";
import { capitalize, escapeInvisible } from "../../kit/format";
import { Markdown } from "../pages/Markdown";
import { InstallDialog } from "./InstallDialog";
import { type Setting, showPlaceholders } from "./recipes";
import { t } from "../../strings";

type Named = { name: string; reason?: string };
/** A published recipe; the API description leaves its content open. */
export type Published = {
  slug: string;
  name: string;
  kind: string;
  version: string;
  description: string;
  publisher?: string;
  preview?: string;
  may?: string[];
  hosts?: string[];
  requires?: {
    secrets?: Named[];
    publisher_secrets?: Named[];
    connections?: { integration: string; reason?: string }[];
  };
  settings?: Setting[];
  examples?: { name: string; says: string }[];
  installed?: number;
  update_available?: boolean;
  template?: unknown;
};
type Dependencies = Answer<"check_recipe_dependencies">;

const BACK = { to: "/codex", label: t.codex.recipes };

export default function Recipe() {
  const { slug } = useParams({ strict: false }) as { slug: string };
  const at = { params: { path: { slug } } };
  const found = api.useQuery("get", "/api/v1/recipes/{slug}", at);
  const dependencies = api.useQuery("get", "/api/v1/recipes/{slug}/dependencies", at);
  const known = found.data?.recipe as Published | undefined;
  return (
    <>
      <PageHead
        back={BACK}
        title={known?.name ?? slug}
        beside={known ? <InstalledNote recipe={known} /> : null}
        sub={known
          ? t.codex.versionBy(
            capitalize(known.kind),
            known.version,
            known.publisher ?? t.codex.someone,
          )
          : undefined}
        right={
          <CopyAs
            operations={[{
              label: t.codex.install3,
              operation: {
                method: "POST",
                path: `/api/v1/recipes/${slug}/apply`,
                body: {},
                tool: "apply_starter_recipe",
                arguments: { slug },
              },
            }]}
          />
        }
      />
      <QueryResult of={found}>
        {() => (
          <QueryResult of={dependencies}>
            {(needed) => known ? <Found recipe={known} needed={needed} /> : null}
          </QueryResult>
        )}
      </QueryResult>
    </>
  );
}

function Found({ recipe, needed }: { recipe: Published; needed: Dependencies }) {
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Stack gap="lg">
          <Card withBorder radius="lg" p="lg">
            <Stack gap="md">
              <Text>{recipe.description}</Text>
              {recipe.preview ? <Markdown text={recipe.preview} /> : null}
              <Examples held={recipe.examples ?? []} />
            </Stack>
          </Card>
          <Accordion variant="separated">
            <Accordion.Item value="data">
              <Accordion.Control>{t.codex.fullDefinition}</Accordion.Control>
              <Accordion.Panel>
                <Json
                  value={recipe.template}
                  label={t.codex.theRecipeAsJson}
                  most={560}
                />
              </Accordion.Panel>
            </Accordion.Item>
          </Accordion>
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Stack gap="lg">
          <Needs recipe={recipe} needed={needed} />
          <InstallDialog recipe={recipe} problems={needed.problems} />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

/** Whether it is installed, with a link to it. */
function InstalledNote({ recipe }: { recipe: Published }) {
  if (!recipe.installed) return null;
  return (
    <Anchor component={Link} to="/codex" search={{ tab: "installed" } as never}>
      {recipe.update_available
        ? <Status value="waiting" label={t.codex.updateAvailable2} />
        : <Status value="ok" label={t.codex.installed2} />}
    </Anchor>
  );
}

function Examples({ held }: { held: { name: string; says: string }[] }) {
  if (!held.length) return null;
  return (
    <Stack gap="xs">
      <Text component="h2" fw={650}>{t.codex.example}</Text>
      {held.map((one) => (
        <div key={one.name}>
          <Text size="sm" fw={600}>{escapeInvisible(one.name)}</Text>
          <Text size="sm" c="dimmed">{one.says}</Text>
        </div>
      ))}
    </Stack>
  );
}

/** All grants and requirements: what a person agrees to. */
function Needs({ recipe, needed }: { recipe: Published; needed: Dependencies }) {
  const { secrets = [], publisher_secrets: keys = [], connections = [] } = recipe.requires ?? {};
  const missing = new Set(needed.missing.map((one) => one.slug));
  const parts: [string, ReactNode[]][] = [
    [t.codex.permissions, recipe.may ?? []],
    [
      t.codex.hosts,
      (recipe.hosts ?? []).map((host) => <Code key={host}>{showPlaceholders(host)}</Code>),
    ],
    [
      t.codex.accounts,
      connections.map((one) => (
        <span key={one.integration}>
          <Anchor
            component={Link}
            to={`/integrations/${one.integration}`}
            size="sm"
            underline="always"
          >
            {one.integration}
          </Anchor>{" "}
          {one.reason}
        </span>
      )),
    ],
    [
      t.codex.secrets,
      [...secrets, ...keys].map((one) => (
        <span key={one.name}>
          <Code>{escapeInvisible(one.name)}</Code> {one.reason}
        </span>
      )),
    ],
    [
      t.codex.requiredRecipes,
      needed.declared.map((one) => (
        <span key={one.slug}>
          <Anchor component={Link} to={`/codex/${one.slug}`} size="sm" underline="always">
            {one.slug}
          </Anchor>
          {missing.has(one.slug) ? t.codex.isInstalledWithIt : t.codex.isInstalled} {one.reason}
        </span>
      )),
    ],
  ];
  const shown = parts.filter(([, held]) => held.length);
  if (!shown.length) return null;
  return (
    <Card withBorder radius="lg" p="lg">
      <Stack gap="md">
        {shown.map(([title, held]) => (
          <section key={title}>
            <Text component="h2" fw={650} mb={4}>{title}</Text>
            <List size="sm" spacing={4}>
              {held.map((one, at) => <List.Item key={at} className="wrap-anywhere">{one}
              </List.Item>)}
            </List>
          </section>
        ))}
      </Stack>
    </Card>
  );
}
