// An upgrade before it is applied: what changes, what it requests, and which local changes it
// discards.

import { Alert, Button, Code, Group, List, Stack, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import { type Answer, api, client, refresh } from "../../api/client";
import { notifyDone, useAction } from "../../kit/useAction";
import { QueryResult } from "../../kit/QueryResult";
import { RehearsalPanel } from "../../review";
import type { Install } from "./recipes";
import { UpgradeDiff } from "./UpgradeDiff";
import { t } from "../../strings";

type Check = Answer<"check_recipe_upgrade">;
type Place = Check["change_summary"]["recipe"][number];

const CHANGES = {
  added: t.codex.isNew,
  removed: t.codex.isRemoved,
  changed: "changes",
  reordered: t.codex.isReordered,
};

export function Upgrade({ one, onDone }: { one: Install; onDone: () => void }) {
  const check = api.useQuery("get", "/api/v1/installs/{entity_id}/upgrade", {
    params: { path: { entity_id: one.id }, query: { entity_kind: one.kind } },
  });
  return (
    <Stack pt="md">
      <QueryResult of={check} lines={3}>
        {(found) => <Checked one={one} check={found} onDone={onDone} />}
      </QueryResult>
    </Stack>
  );
}

function Checked({ one, check, onDone }: { one: Install; check: Check; onDone: () => void }) {
  const { busy, act } = useAction();
  const [opened, setOpened] = useState<"diff" | "rehearsal" | null>(null);
  const toggle = (part: "diff" | "rehearsal") => setOpened(opened === part ? null : part);
  const what = check.change_summary;
  const upgrade = () =>
    act(async () => {
      const { data } = await client.POST("/api/v1/installs/{entity_id}/upgrade", {
        params: { path: { entity_id: one.id } },
        body: { entity_kind: one.kind, force: check.has_user_changes },
      });
      await refresh(
        "/api/v1/installs",
        "/api/v1/recipes",
        "/api/v1/automations",
        "/api/v1/consents",
        "/api/v1/boards",
      );
      const waits = (data?.asks_for ?? []).length > 0;
      notifyDone(
        t.codex.isNowVersionAndNeeds(one.name, data?.upgraded_to_version, waits),
      );
      onDone();
    });
  return (
    <Stack gap="sm">
      <Some title={t.codex.theNewVersion} held={what.recipe.map(placed)} />
      <Some title={t.codex.itAlsoInstalls} held={what.new_dependencies} />
      <Some title={t.codex.itNoLongerUsesThese} held={what.orphaned_datasets} />
      <Some
        title={t.codex.itAsksForNewPermissions}
        held={check.asks_for.map((each) => each.says)}
      />
      {check.has_user_changes
        ? (
          <Alert color="yellow" variant="light" icon={<TriangleAlert size={16} />}>
            <Some
              title={t.codex.youChangedThisAndAn}
              held={what.yours.map(placed)}
            />
          </Alert>
        )
        : null}
      <Group gap="xs">
        <Button
          size="xs"
          loading={busy}
          color={check.has_user_changes ? "red.9" : undefined}
          onClick={() => void upgrade()}
        >
          {check.has_user_changes
            ? t.codex.upgradeAndDiscardMyChanges
            : t.codex.upgradeTo(check.latest)}
        </Button>
        {check.definition
          ? (
            <>
              <Button
                size="xs"
                variant="default"
                onClick={() => toggle("diff")}
                aria-expanded={opened === "diff"}
              >
                {t.codex.compareTheDefinitions}
              </Button>
              <Button
                size="xs"
                variant="default"
                onClick={() => toggle("rehearsal")}
                aria-expanded={opened === "rehearsal"}
              >
                {t.codex.rehearseFirst}
              </Button>
            </>
          )
          : null}
      </Group>
      {opened === "diff" && check.definition
        ? <UpgradeDiff automationId={one.id} definition={check.definition} />
        : null}
      {opened === "rehearsal" && check.definition
        ? (
          <RehearsalPanel
            automationId={one.id}
            candidate={{ definition: check.definition } as never}
          />
        )
        : null}
    </Stack>
  );
}

const placed = (each: Place) => (
  <>
    <Code>{each.place || t.codex.everything}</Code>
    {each.was === undefined ? ` ${CHANGES[each.change]}` : `: ${each.was} → ${each.becomes}`}
  </>
);

function Some({ title, held }: { title: string; held: React.ReactNode[] }) {
  if (!held.length) return null;
  return (
    <div>
      <Text size="sm" fw={600}>{title}</Text>
      <List size="sm">
        {held.map((one, at) => <List.Item key={at} className="wrap-anywhere">{one}</List.Item>)}
      </List>
    </div>
  );
}
