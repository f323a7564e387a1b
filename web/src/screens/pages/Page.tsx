// One page: its text, metadata, source and history.

import {
  Anchor,
  Badge,
  Button,
  Card,
  Grid,
  Group,
  Stack,
  Text,
  Timeline,
  Title,
} from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Answer, api, client, refresh } from "../../api/client";
import { Problem } from "../../api/problem";
import { useHasRole } from "../../api/session";
import { notifyDone, useAction } from "../../kit/useAction";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Json } from "../../kit/Json";
import { Timestamp } from "../../kit/Timestamp";
import { PageHead } from "../../kit/PageHead";
import { capitalize, escapeInvisible, humanize } from "../../kit/format";
import { EditPage } from "./EditPage";
import { Markdown } from "./Markdown";
import { safeHref } from "./markdown";
import Pages from "./Pages";
import { t } from "../../strings";

type Shown = Answer<"get_page">;
type Entry = NonNullable<Shown["timeline"]>[number];
const ALL = ["/api/v1/pages", "/api/v1/search", "/api/v1/query"];
// A longer text would block the browser; the API has all of it.
const LONGEST = 200_000;

export default function Page() {
  const { slug } = useParams({ strict: false }) as { slug?: string };
  // The path of the page list is also that of a page without a name.
  return slug ? <Named slug={slug} /> : <Pages />;
}

function Named({ slug }: { slug: string }) {
  const page = api.useQuery("get", "/api/v1/pages/{slug}", {
    params: { path: { slug }, query: { include: ["body", "timeline"] } },
  });
  if (page.data) return <PageContent page={page.data} />;
  const refusal: unknown = page.error;
  const gone = refusal instanceof Problem && refusal.status === 404;
  return (
    <>
      <PageHead title={t.pages.page} back={{ to: "/pages", label: t.pages.pages }} />
      <QueryResult of={page} lines={6}>{() => null}</QueryResult>
      {gone ? <Restore slug={slug} /> : null}
    </>
  );
}

/** A deleted page returns 404 like an unknown one; the session that deleted it knows its name. */
function Restore({ slug }: { slug: string }) {
  const { busy, act } = useAction();
  const may = useHasRole("editor");
  if (!may) return null;
  return (
    <Group mt="md">
      <Text size="sm" c="dimmed">{t.pages.itMayHaveBeenDeleted}</Text>
      <Button
        variant="default"
        size="compact-sm"
        loading={busy}
        onClick={() => void act(() => restorePage(slug), t.pages.thePageIsRestored)}
      >
        {t.pages.restore}
      </Button>
    </Group>
  );
}

async function restorePage(slug: string) {
  await client.POST("/api/v1/pages/{slug}/restore", { params: { path: { slug } } });
  await refresh(...ALL);
}

function PageContent({ page }: { page: Shown }) {
  const [editing, setEditing] = useState(false);
  const may = useHasRole("editor");
  const { busy, act } = useAction();
  const navigate = useNavigate();
  const remove = async () => {
    const done = await act(() =>
      client.DELETE("/api/v1/pages/{slug}", { params: { path: { slug: page.slug } } })
    );
    if (!done) return;
    await navigate({ to: "/pages" });
    void refresh(...ALL);
    const id = notifications.show({
      color: "teal",
      autoClose: 12_000,
      message: (
        <Group justify="space-between">
          <Text size="sm">{t.pages.thePageIsDeleted}</Text>
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => {
              notifications.hide(id);
              void act(() => restorePage(page.slug), t.pages.thePageIsRestored);
            }}
          >
            {t.pages.undo}
          </Button>
        </Group>
      ),
    });
  };
  const body = page.body ?? "";
  return (
    <>
      <PageHead
        title={page.title}
        back={{ to: "/pages", label: t.pages.pages }}
        beside={<Badge variant="light" color="gray" tt="none">{humanize(page.type)}</Badge>}
        right={
          <>
            {may && !editing
              ? (
                <>
                  <Button
                    variant="default"
                    leftSection={<Pencil size={15} aria-hidden />}
                    onClick={() => setEditing(true)}
                  >
                    {t.pages.edit}
                  </Button>
                  <Button
                    variant="default"
                    leftSection={<Trash2 size={15} aria-hidden />}
                    loading={busy}
                    onClick={() => void remove()}
                  >
                    {t.pages.delete}
                  </Button>
                </>
              )
              : null}
            <CopyAs
              operations={[{
                label: t.pages.readThisPage,
                operation: {
                  method: "GET",
                  path: `/api/v1/pages/${page.slug}`,
                  tool: "get_page",
                  arguments: { slug: page.slug },
                },
              }]}
            />
          </>
        }
      />
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, md: 8 }}>
          {editing
            ? (
              <EditPage
                page={page}
                close={() => setEditing(false)}
                done={async () => {
                  await refresh(...ALL);
                  setEditing(false);
                  notifyDone(t.pages.thePageIsSaved);
                }}
              />
            )
            : (
              <Card
                withBorder
                radius="lg"
                p="xl"
                component="article"
                aria-label={page.title}
              >
                {body.trim()
                  ? <Markdown text={body.slice(0, LONGEST)} />
                  : <Text c="dimmed">{t.pages.noText}</Text>}
                {body.length > LONGEST
                  ? <Text c="dimmed" size="sm">{t.pages.theRestOfThisLong}</Text>
                  : null}
              </Card>
            )}
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Stack gap="md">
            <About page={page} />
            <PageHistory entries={page.timeline ?? []} />
          </Stack>
        </Grid.Col>
      </Grid>
    </>
  );
}

function About({ page }: { page: Shown }) {
  const href = safeHref(page.source_ref ?? "");
  const values = Object.entries(page.frontmatter as Record<string, unknown>);
  return (
    <Card withBorder radius="lg" p="lg">
      <Title order={2} size="h5" mb="sm">{t.pages.about}</Title>
      <Stack gap="xs">
        <Fact name={t.pages.from}>{humanize(page.source)}</Fact>
        {page.source_ref
          ? (
            <Fact name={t.pages.source}>
              {href
                ? (
                  <Anchor
                    href={href}
                    target="_blank"
                    rel="noreferrer noopener"
                    size="sm"
                  >
                    {page.source_ref}
                  </Anchor>
                )
                : <span className="mono">{escapeInvisible(page.source_ref)}</span>}
            </Fact>
          )
          : null}
        {page.run_id
          ? (
            <Fact name={t.pages.createdBy}>
              <Anchor component={Link} to={`/runs/${page.run_id}`} size="sm">{t.pages.aRun}</Anchor>
            </Fact>
          )
          : null}
        <Fact name={t.pages.received}>
          <Timestamp at={page.ingested_at} />
        </Fact>
        <Fact name={t.pages.changed}>
          <Timestamp at={page.updated_at} />
        </Fact>
        {values.map(([name, value]) => (
          <Fact key={name} name={name}>
            {Array.isArray(value) && value.every((one) => typeof one !== "object")
              ? value.map(String).map(escapeInvisible).join(", ")
              : typeof value === "object" && value !== null
              ? <Json value={value} label={name} most={160} />
              : escapeInvisible(String(value))}
          </Fact>
        ))}
      </Stack>
    </Card>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed">{name}</Text>
      <Text size="sm" component="div" className="wrap-anywhere">{children}</Text>
    </div>
  );
}

function PageHistory({ entries }: { entries: Entry[] }) {
  return (
    <Card withBorder radius="lg" p="lg">
      <Title order={2} size="h5" mb="sm">{t.pages.history}</Title>
      <Timeline bulletSize={14} lineWidth={2} active={entries.length}>
        {entries.map((entry) => (
          <Timeline.Item
            key={entry.id}
            title={<Text size="sm" fw={600}>{capitalize(humanize(entry.action))}</Text>}
          >
            <Text size="xs" c="dimmed" component="div">
              {t.pages.by(<Timestamp at={entry.at} size="xs" />)} {entry.run_id
                ? (
                  <Anchor component={Link} to={`/runs/${entry.run_id}`} size="xs">
                    {t.pages.aRun}
                  </Anchor>
                )
                : t.pages.a(humanize(entry.actor_kind))}
            </Text>
          </Timeline.Item>
        ))}
      </Timeline>
    </Card>
  );
}
