// The external links of a board, what each fills, and its last refresh.

import { Alert, Anchor, Badge, Button, Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link as To } from "@tanstack/react-router";
import { Link2, Plus, RefreshCw } from "lucide-react";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { notifyDone, useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { Empty } from "../../kit/Empty";
import { Timestamp } from "../../kit/Timestamp";
import { describeCron, formatCount } from "../../kit/format";
import { describeTarget, useLinkKinds } from "./linkKinds";
import { NewLink } from "./NewLink";
import { NewRecipe } from "./NewRecipe";
import type { BoardShown } from "./rows";

type Link = BoardShown["links"][number];
type Recipe = Link["recipes"][number];
type Props = { board: BoardShown; mayEdit: boolean };

export function Links({ board, mayEdit }: Props) {
  const [making, setMaking] = useState(false);
  const make = mayEdit
    ? (
      <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setMaking(true)}>
        Follow something
      </Button>
    )
    : null;
  return (
    <Stack gap="md" maw={860}>
      {board.links.length
        ? (
          <>
            <Group justify="flex-end">{make}</Group>
            {board.links.map((link) => <LinkCard key={link.id} link={link} mayEdit={mayEdit} />)}
          </>
        )
        : (
          <Empty icon={Link2} title="This board follows nothing yet" actions={make}>
            Link it to a repository, a calendar, a feed or any address that answers JSON, and a
            dataset is kept as it is over there.
          </Empty>
        )}
      <NewLink boardId={board.id} opened={making} close={() => setMaking(false)} />
    </Stack>
  );
}

function LinkCard({ link, mayEdit }: { link: Link; mayEdit: boolean }) {
  const [filling, setFilling] = useState(false);
  const kinds = useLinkKinds();
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const remove = async () => {
    const sure = await confirm({
      title: `Stop following ${link.display_name}?`,
      message: "Its datasets are no longer refreshed. Their rows stay.",
      yes: "Stop following",
      dangerous: true,
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/board-links/{link_id}", {
        params: { path: { link_id: link.id } },
      });
      await refresh("/api/v1/boards");
    }, "The link is deleted.");
  };
  return (
    <Card withBorder radius="lg" p="lg">
      <Group justify="space-between" align="flex-start" mb={link.recipes.length ? "md" : 0}>
        <div>
          <Group gap="xs">
            <Title order={2} size="h5">{link.display_name}</Title>
            <Badge variant="light" color="gray" tt="none">
              {kinds.find((one) => one.kind === link.kind)?.label ?? link.kind}
            </Badge>
          </Group>
          <Text size="sm" c="dimmed" className="mono wrap-anywhere">
            {describeTarget(link.ref)}
          </Text>
        </div>
        {mayEdit
          ? (
            <Group gap="xs">
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => setFilling(true)}
              >
                Fill a dataset
              </Button>
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                loading={busy}
                onClick={() => void remove()}
                aria-label={`Delete the link ${link.display_name}`}
              >
                Delete
              </Button>
            </Group>
          )
          : null}
      </Group>
      <Stack gap="sm">
        {link.recipes.map((recipe) => (
          <RecipeLine key={recipe.id} recipe={recipe} mayEdit={mayEdit} />
        ))}
        {!link.recipes.length
          ? <Text size="sm" c="dimmed" mt="xs">It fills no dataset yet.</Text>
          : null}
      </Stack>
      <NewRecipe
        link={link}
        opened={filling}
        close={() =>
          setFilling(false)}
      />
    </Card>
  );
}

function RecipeLine({ recipe, mayEdit }: { recipe: Recipe; mayEdit: boolean }) {
  const { busy, act } = useAction();
  const confirm = useConfirm();
  const path = { recipe_id: recipe.id };
  const again = () =>
    act(async () => {
      try {
        const { data } = await client.POST("/api/v1/dataset-recipes/{recipe_id}/refresh", {
          params: { path },
          body: {},
        });
        if (data) {
          notifyDone(
            `${
              formatCount(data.total, "row")
            }: ${data.appended} new, ${data.updated} changed, ${data.deleted} gone.`,
          );
        }
      } finally {
        await refresh("/api/v1/boards");
      }
    });
  const stop = async () => {
    const sure = await confirm({
      title: `Stop filling ${recipe.dataset_name}?`,
      message: "The automation that refreshes it is archived. The rows stay.",
      yes: "Stop",
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/dataset-recipes/{recipe_id}", { params: { path } });
      await refresh("/api/v1/boards");
    }, "It is no longer filled.");
  };
  const when = recipe.refresh_cron
    ? describeCron(recipe.refresh_cron) ?? recipe.refresh_cron
    : "by hand";
  return (
    <Card bg="var(--soft)" radius="md" p="sm">
      <Group justify="space-between" gap="xs">
        <div>
          <Text size="sm" fw={600}>{recipe.dataset_name}</Text>
          <Text size="sm" c="dimmed" component="div">
            {recipe.adapter_op}, refreshed {when}; last <Timestamp at={recipe.last_refreshed_at} />
            {recipe.last_rows === null ? "" : `, ${formatCount(recipe.last_rows, "row")}`}
            {recipe.automation_id
              ? (
                <>
                  {" · "}
                  <Anchor
                    component={To}
                    size="sm"
                    to={`/automations/${recipe.automation_id}`}
                  >
                    its automation
                  </Anchor>
                </>
              )
              : null}
          </Text>
        </div>
        {mayEdit
          ? (
            <Group gap="xs">
              <Button
                size="compact-sm"
                variant="default"
                leftSection={<RefreshCw size={13} aria-hidden />}
                loading={busy}
                onClick={() => void again()}
                aria-label={`Refresh ${recipe.dataset_name}`}
              >
                Refresh
              </Button>
              <Button
                size="compact-sm"
                variant="subtle"
                color="gray"
                onClick={() => void stop()}
              >
                Stop
              </Button>
            </Group>
          )
          : null}
      </Group>
      {recipe.last_error
        ? (
          <Alert
            color={recipe.failures_in_row ? "red" : "yellow"}
            variant="light"
            mt="xs"
            py="xs"
          >
            {describeProblem(recipe.last_error)}
            {recipe.failures_in_row > 1 ? ` Failed ${recipe.failures_in_row} times in a row.` : ""}
          </Alert>
        )
        : null}
    </Card>
  );
}

function describeProblem(answer: Record<string, unknown>): string {
  const text = [answer.detail, answer.suggestion].filter((one) => typeof one === "string");
  return text.join(" ") || "The last refresh did not work.";
}
