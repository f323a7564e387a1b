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
import { describeCron } from "../../kit/format";
import { describeTarget, useLinkKinds } from "./linkKinds";
import { NewLink } from "./NewLink";
import { NewRecipe } from "./NewRecipe";
import type { BoardShown } from "./rows";
import { t } from "../../strings";

type Link = BoardShown["links"][number];
type Recipe = Link["recipes"][number];
type Props = { board: BoardShown; mayEdit: boolean };

export function Links({ board, mayEdit }: Props) {
  const [making, setMaking] = useState(false);
  const make = mayEdit
    ? (
      <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setMaking(true)}>
        {t.boards.addLink}
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
          <Empty icon={Link2} title={t.boards.noLinksYet} actions={make}>
            {t.boards.linkARepositoryACalendar}
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
      title: t.boards.deleteTheLink(link.display_name),
      message: t.boards.itsDatasetsAreNoLonger,
      yes: t.boards.deleteLink,
      dangerous: true,
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/board-links/{link_id}", {
        params: { path: { link_id: link.id } },
      });
      await refresh("/api/v1/boards");
    }, t.boards.theLinkIsDeleted);
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
                {t.boards.fillADataset}
              </Button>
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                loading={busy}
                onClick={() => void remove()}
                aria-label={t.boards.deleteTheLink2(link.display_name)}
              >
                {t.boards.delete}
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
          ? <Text size="sm" c="dimmed" mt="xs">{t.boards.noDatasetYet}</Text>
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
            t.boards.rowNewChangedRemoved(data.total, data.appended, data.updated, data.deleted),
          );
        }
      } finally {
        await refresh("/api/v1/boards");
      }
    });
  const stop = async () => {
    const sure = await confirm({
      title: t.boards.stopRefreshing(recipe.dataset_name),
      message: t.boards.theAutomationThatRefreshesIt,
      yes: t.boards.stop,
    });
    if (!sure) return;
    await act(async () => {
      await client.DELETE("/api/v1/dataset-recipes/{recipe_id}", { params: { path } });
      await refresh("/api/v1/boards");
    }, t.boards.noLongerRefreshed);
  };
  const when = recipe.refresh_cron
    ? describeCron(recipe.refresh_cron) ?? recipe.refresh_cron
    : t.boards.manually;
  return (
    <Card bg="var(--soft)" radius="md" p="sm">
      <Group justify="space-between" gap="xs">
        <div>
          <Text size="sm" fw={600}>{recipe.dataset_name}</Text>
          <Text size="sm" c="dimmed" component="div">
            {t.boards.refreshedLast(
              recipe.adapter_op,
              when,
              <Timestamp at={recipe.last_refreshed_at} />,
              recipe.last_rows === null ? "" : `, ${t.counts.rows(recipe.last_rows)}`,
            )}
            {recipe.automation_id
              ? (
                <>
                  {" · "}
                  <Anchor
                    component={To}
                    size="sm"
                    to={`/automations/${recipe.automation_id}`}
                  >
                    {t.boards.automation}
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
                aria-label={t.boards.refresh3(recipe.dataset_name)}
              >
                {t.boards.refresh2}
              </Button>
              <Button
                size="compact-sm"
                variant="subtle"
                color="gray"
                onClick={() => void stop()}
              >
                {t.boards.stop}
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
            {recipe.failures_in_row > 1 ? t.boards.failedTimesInARow(recipe.failures_in_row) : ""}
          </Alert>
        )
        : null}
    </Card>
  );
}

function describeProblem(answer: Record<string, unknown>): string {
  const text = [answer.detail, answer.suggestion].filter((one) => typeof one === "string");
  return text.join(" ") || t.boards.theLastRefreshFailed;
}
