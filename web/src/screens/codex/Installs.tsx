// Installed recipes: version, upgrade after a review, and uninstall.

import { Anchor, Button, Card, Collapse, Group, List, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { PackageOpen } from "lucide-react";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { Empty } from "../../kit/Empty";
import { Status } from "../../kit/Status";
import { escapeInvisible } from "../../kit/format";
import { type Install, placeOf } from "./recipes";
import { Upgrade } from "./Upgrade";
import { t } from "../../strings";

export function Installs({ held }: { held: Install[] }) {
  if (!held.length) {
    return (
      <Empty
        icon={PackageOpen}
        title={t.codex.noInstalledRecipes}
        actions={<Button component={Link} to="/codex">{t.codex.browseRecipes}</Button>}
      >
        {t.codex.installedRecipesAreListedHere}
      </Empty>
    );
  }
  return <Stack gap="sm">{held.map((one) => <Row key={one.id} one={one} />)}</Stack>;
}

function Row({ one }: { one: Install }) {
  const may = useHasRole("editor");
  const [open, setOpen] = useState(false);
  const place = placeOf(one);
  const bundle = one.bundle as { name?: string } | null;
  return (
    <Card withBorder radius="lg" p="md">
      <Group justify="space-between">
        <Stack gap={2} style={{ minWidth: 0 }}>
          {place
            ? <Anchor component={Link} to={place} fw={650}>{escapeInvisible(one.name)}</Anchor>
            : <Text fw={650}>{escapeInvisible(one.name)}</Text>}
          <Text size="sm" c="dimmed">
            {t.codex.versionOf(
              one.kind,
              bundle?.name ? t.codex.comesWith(bundle.name) : "",
              one.source_recipe_version,
              <Anchor
                component={Link}
                to={`/codex/${one.source_recipe_slug}`}
                size="sm"
                underline="always"
              >
                {one.source_recipe_slug}
              </Anchor>,
            )}
          </Text>
        </Stack>
        <Group gap="xs">
          {one.update_available
            ? (
              <Status
                value="waiting"
                label={t.codex.updateAvailable(one.latest_version)}
              />
            )
            : null}
          {may && !bundle
            ? (
              <>
                {one.update_available
                  ? (
                    <Button
                      size="xs"
                      variant="default"
                      onClick={() => setOpen(!open)}
                      aria-expanded={open}
                      aria-label={t.codex.showTheUpgradeOf(one.name)}
                    >
                      {t.codex.showUpgrade}
                    </Button>
                  )
                  : null}
                <Uninstall one={one} />
              </>
            )
            : null}
        </Group>
      </Group>
      <Collapse expanded={open}>
        {open ? <Upgrade one={one} onDone={() => setOpen(false)} /> : null}
      </Collapse>
    </Card>
  );
}

function Uninstall({ one }: { one: Install }) {
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const at = { path: { entity_id: one.id } };
  const remove = () =>
    act(async () => {
      // Shows first what is removed and what depends on it.
      const { data } = await client.DELETE("/api/v1/installs/{entity_id}", {
        params: { ...at, query: { dry_run: true } },
      });
      const also = data?.uninstalled.filter((each) => each.id !== one.id) ?? [];
      const sure = await confirm({
        title: t.codex.uninstall(one.name),
        message: (
          <Stack gap="xs">
            <Text size="sm">{t.codex.itStopsAtOnceYou}</Text>
            <Named title={t.codex.alsoUninstalled} held={also} />
            <Named
              title={t.codex.theseDependOnItAnd}
              held={data?.still_needed_by ?? []}
            />
          </Stack>
        ),
        yes: also.length ? t.codex.uninstallItem(also.length + 1) : t.codex.uninstall2,
        dangerous: true,
      });
      if (!sure) return;
      await client.DELETE("/api/v1/installs/{entity_id}", { params: at });
      await refresh(
        "/api/v1/installs",
        "/api/v1/uninstalled",
        "/api/v1/recipes",
        "/api/v1/automations",
        "/api/v1/boards",
      );
    });
  return (
    <Button
      size="xs"
      variant="subtle"
      color="red"
      loading={busy}
      onClick={() => void remove()}
      aria-label={t.codex.uninstall3(one.name)}
    >
      {t.codex.uninstall2}
    </Button>
  );
}

function Named(
  { title, held }: { title: string; held: { id: string; name: string; kind: string }[] },
) {
  if (!held.length) return null;
  return (
    <>
      <Text size="sm" fw={600}>{title}</Text>
      <List size="sm">
        {held.map((one) => (
          <List.Item key={one.id}>{escapeInvisible(one.name)}, {one.kind}</List.Item>
        ))}
      </List>
    </>
  );
}
