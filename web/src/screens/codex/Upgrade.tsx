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

type Check = Answer<"check_recipe_upgrade">;
type Place = Check["change_summary"]["recipe"][number];

const CHANGES = {
  added: "is new",
  removed: "goes",
  changed: "changes",
  reordered: "is in another order",
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
        `${one.name} is version ${data?.upgraded_to_version} now${
          waits ? ", and waits for your consent in the inbox" : ""
        }.`,
      );
      onDone();
    });
  return (
    <Stack gap="sm">
      <Some title="The newer version:" held={what.recipe.map(placed)} />
      <Some title="It also installs:" held={what.new_dependencies} />
      <Some title="It gives these datasets up; they stay:" held={what.orphaned_datasets} />
      <Some
        title="It asks for more than before, and waits for your consent:"
        held={check.asks_for.map((each) => each.says)}
      />
      {check.has_user_changes
        ? (
          <Alert color="yellow" variant="light" icon={<TriangleAlert size={16} />}>
            <Some
              title="You have changed this yourself, and an upgrade throws it away:"
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
            ? "Upgrade and throw away my changes"
            : `Upgrade to ${check.latest}`}
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
                Compare the definitions
              </Button>
              <Button
                size="xs"
                variant="default"
                onClick={() => toggle("rehearsal")}
                aria-expanded={opened === "rehearsal"}
              >
                Rehearse it first
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
    <Code>{each.place || "all of it"}</Code>
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
