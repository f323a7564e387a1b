// Proposals that are neither saved nor discarded.

import { ActionIcon, Anchor, Box, Button, Card, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { type Answer, api } from "../../api/client";
import { useHasRole } from "../../api/session";
import { useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { Timestamp } from "../../kit/Timestamp";
import { Status } from "../../kit/Status";
import { formatDate } from "../../kit/format";
import { discard } from "../proposal/requests";
import { t } from "../../strings";

type One = Answer<"list_proposals">["proposals"][number];

export const STANDS: Record<One["status"], string> = {
  asks: t.create.hasQuestions,
  invalid: t.create.hasErrors,
  ready: "ready",
  saved: "saved",
};
const TONES: Record<One["status"], string> = {
  asks: "asks",
  invalid: "broken",
  ready: "ready",
  saved: "ok",
};

export const Stands = ({ status }: { status: One["status"] }) => (
  <Status value={TONES[status]} label={STANDS[status]} />
);

function Row({ one }: { one: One }) {
  const may = useHasRole("editor");
  const confirm = useConfirm();
  const { busy, act } = useAction();
  const name = one.name ?? one.request;
  const throwAway = async () => {
    const message = t.create.nothingWasSaved;
    if (
      !(await confirm({
        title: t.create.discard(name),
        message,
        yes: t.create.discard2,
        dangerous: true,
      }))
    ) return;
    await act(() => discard(one.proposal_id));
  };
  return (
    <Group
      component="li"
      justify="space-between"
      align="flex-start"
      wrap="nowrap"
      gap="xs"
      py="xs"
    >
      <Box style={{ minWidth: 0 }}>
        <Anchor
          component={Link}
          to="/proposals/$proposalId"
          params={{ proposalId: one.proposal_id } as never}
          size="sm"
          fw={600}
          className="wrap-anywhere"
        >
          {name}
        </Anchor>
        <Text size="xs" c="dimmed" lineClamp={2} mb={4}>{one.request}</Text>
        <Group gap="xs">
          <Stands status={one.status} />
          <Text size="xs" c="dimmed" component="div">
            {t.create.aChangeExpires(
              Boolean(one.automation_id),
              <Timestamp at={one.created_at} size="xs" />,
              formatDate(one.expires_at),
            )}
          </Text>
        </Group>
      </Box>
      {may
        ? (
          <ActionIcon
            variant="subtle"
            color="gray"
            loading={busy}
            aria-label={t.create.discard3(name)}
            onClick={() => void throwAway()}
          >
            <Trash2 size={15} />
          </ActionIcon>
        )
        : null}
    </Group>
  );
}

const STEP = 10;

export function OpenProposals() {
  const [limit, setLimit] = useState(STEP);
  const { data } = api.useQuery("get", "/api/v1/proposals", { params: { query: { limit } } });
  if (!data?.proposals.length) return null;
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.create.openProposals}>
      <Title order={2} size="h5" mb={4}>{t.create.openProposals}</Title>
      <Text size="sm" c="dimmed">{t.create.theyHaveNoEffectUntil}</Text>
      <Stack gap={0} component="ul" p={0} mt="xs" mb={0} style={{ listStyle: "none" }}>
        {data.proposals.map((one) => <Row key={one.proposal_id} one={one} />)}
      </Stack>
      {data.next && limit < 100
        ? (
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() =>
              setLimit((before) => Math.min(100, before + 30))}
          >
            {t.create.showMore}
          </Button>
        )
        : null}
    </Card>
  );
}
