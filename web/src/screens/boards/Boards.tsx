// All boards: their datasets, row counts and last changes.

import {
  Badge,
  Button,
  Card,
  Group,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Plus, Search, Table2 } from "lucide-react";
import { useState } from "react";
import { type Answer, api } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { Timestamp } from "../../kit/Timestamp";
import { PageHead } from "../../kit/PageHead";
import { escapeInvisible } from "../../kit/format";
import { NewBoard } from "./NewBoard";
import { t } from "../../strings";

type Entry = Answer<"list_boards">["boards"][number];

export default function Boards() {
  const [values, change] = useUrlState();
  const [making, setMaking] = useState(false);
  const may = useHasRole("editor");
  const archived = values.archived === "yes";
  const boards = api.useQuery("get", "/api/v1/boards", {
    params: { query: { archived, limit: 200 } },
  });
  const make = may
    ? (
      <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setMaking(true)}>
        {t.boards.newBoard2}
      </Button>
    )
    : null;
  return (
    <>
      <PageHead
        title={t.boards.boards}
        sub={t.boards.tablesSharedByPeopleAnd}
        right={
          <>
            {make}
            <CopyAs
              operations={[{
                label: t.boards.listBoards,
                operation: {
                  method: "GET",
                  path: "/api/v1/boards",
                  tool: "list_boards",
                },
              }, {
                label: t.boards.createABoard,
                operation: {
                  method: "POST",
                  path: "/api/v1/boards",
                  tool: "create_board",
                  body: { name: "Contacts" },
                },
              }]}
            />
          </>
        }
      />
      <Group mb="md" gap="md">
        <TextInput
          aria-label={t.boards.searchBoards}
          placeholder={t.boards.searchBoards}
          leftSection={<Search size={15} aria-hidden />}
          value={values.q ?? ""}
          onChange={(event) => change({ q: event.currentTarget.value || undefined })}
          style={{ flex: "0 1 320px" }}
        />
        <Switch
          label={t.boards.includeArchived}
          checked={archived}
          onChange={(event) =>
            change({ archived: event.currentTarget.checked ? "yes" : undefined })}
        />
      </Group>
      <QueryResult of={boards}>
        {({ boards: all }) => <List boards={all} text={values.q ?? ""} make={make} />}
      </QueryResult>
      <NewBoard opened={making} close={() => setMaking(false)} />
    </>
  );
}

function List(
  { boards, text, make }: { boards: Entry[]; text: string; make: React.ReactNode },
) {
  if (!boards.length) {
    return (
      <Empty
        icon={Table2}
        title={t.boards.noBoardsYet}
        actions={
          <>
            {make}
            <Button variant="default" component={Link} to="/codex">
              {t.boards.browseRecipes}
            </Button>
          </>
        }
      >
        {t.boards.aBoardStoresRowsContacts}
      </Empty>
    );
  }
  const low = text.toLowerCase();
  const fitting = boards.filter((one) =>
    `${one.name} ${one.description}`.toLowerCase().includes(low)
  );
  if (!fitting.length) return <Text c="dimmed">{t.boards.noBoardsMatch(text)}</Text>;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="md">
      {fitting.map((board) => <BoardCard key={board.id} board={board} />)}
    </SimpleGrid>
  );
}

function BoardCard({ board }: { board: Entry }) {
  const rows = board.datasets.reduce((sum, { total }) => sum + total, 0);
  return (
    <Card
      component={Link}
      to="/boards/$boardId"
      params={{ boardId: board.id } as never}
      withBorder
      radius="lg"
      className="row-link"
      p="lg"
    >
      <Stack gap="xs" h="100%">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Title order={2} size="h5" className="wrap-anywhere">{escapeInvisible(board.name)}</Title>
          {board.archived
            ? <Badge color="gray" variant="light" tt="none">{t.boards.archived}</Badge>
            : null}
        </Group>
        {board.description
          ? <Text size="sm" c="dimmed" lineClamp={2}>{board.description}</Text>
          : null}
        <Text size="sm" className="numbers" mt="auto">
          {t.counts.rows(rows)}
          {board.datasets.length > 1 ? t.boards.inDataset(board.datasets.length) : ""}
        </Text>
        <Text size="xs" c="dimmed" component="div">
          {t.boards.changed(<Timestamp at={board.updated_at} size="xs" />)}
        </Text>
      </Stack>
    </Card>
  );
}
