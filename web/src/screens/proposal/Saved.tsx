// After saving: triggers, next run, cost, and activation.

import { Alert, Anchor, Button, Card, Grid, Group, List, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CircleCheck, FlaskConical, Play } from "lucide-react";
import { useState } from "react";
import { api, client, refresh, type Schemas } from "../../api/client";
import { useHasRole } from "../../api/session";
import { ProblemNote, QueryResult } from "../../kit/QueryResult";
import { Status } from "../../kit/Status";
import { Price, ReviewPanel, Starts } from "../../review";
import type { Proposal } from "../../review/reviewText";
import { useAction } from "../../kit/useAction";
import { DryRun } from "./DryRun";
import { nextFires } from "./fireTimes";
import { Summary } from "./Summary";
import { t } from "../../strings";

type Automation = Schemas["AutomationDetail"];

function Next({ automation }: { automation: Automation }) {
  const fires = nextFires(automation.definition);
  if (!fires.length) return null;
  return (
    <Stack gap={4}>
      <Text size="xs" fw={600} c="dimmed">
        {automation.state === "active" ? t.proposal.nextRun : t.proposal.nextRunOnceActive}
      </Text>
      <List size="sm" spacing={2} className="numbers">
        {fires.map((one) => <List.Item key={one}>{one}</List.Item>)}
      </List>
    </Stack>
  );
}

const describeFinding = (one: Schemas["FindingShape"]) =>
  one.suggestion ? `${one.detail} ${one.suggestion}` : one.detail;

function SavedActions({ automation }: { automation: Automation }) {
  const [warnings, setWarnings] = useState<Schemas["FindingShape"][]>([]);
  const [problem, setProblem] = useState<unknown>(null);
  const [tries, setTries] = useState(0);
  const { busy, act } = useAction();
  const path = { automation_id: automation.id };
  const activate = () =>
    act(async () => {
      setProblem(null);
      try {
        const { data } = await client.POST("/api/v1/automations/{automation_id}/activate", {
          params: { path },
        });
        setWarnings(data!.warnings);
      } catch (refused) {
        setProblem(refused);
      }
      await refresh("/api/v1/automations");
    });
  const isActive = automation.state === "active";
  return (
    <Stack gap="sm">
      <Group gap="xs">
        {isActive ? null : (
          <Button
            leftSection={<Play size={16} />}
            loading={busy}
            onClick={() => void activate()}
          >
            {t.proposal.activate}
          </Button>
        )}
        <Button
          variant="default"
          leftSection={<FlaskConical size={16} />}
          onClick={() => setTries(tries + 1)}
        >
          {t.proposal.startADryRun}
        </Button>
        <Button
          variant="subtle"
          component={Link}
          to="/automations/$automationId"
          params={{ automationId: automation.id } as never}
        >
          {isActive ? t.proposal.openTheAutomation : t.proposal.leaveItPaused}
        </Button>
      </Group>
      {problem ? <ProblemNote problem={problem} /> : null}
      {isActive && warnings.length
        ? (
          <Alert
            color="yellow"
            variant="light"
            title={t.proposal.itIsActiveButSomething}
          >
            <List size="sm">
              {warnings.map((one) => (
                <List.Item key={one.pointer + one.code}>
                  {describeFinding(one)}
                </List.Item>
              ))}
            </List>
          </Alert>
        )
        : null}
      {tries ? <DryRun key={tries} automationId={automation.id} /> : null}
    </Stack>
  );
}

function Step({ automation, proposal }: { automation: Automation; proposal: Proposal }) {
  const may = useHasRole("operator");
  const isActive = automation.state === "active";
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.proposal.saved}>
      <Group gap="sm" mb="sm">
        <CircleCheck size={22} aria-hidden style={{ color: "var(--good)" }} />
        <Title order={2} size="h4">
          {isActive ? t.proposal.isActive(automation.name) : t.proposal.savedActivateItNow}
        </Title>
        <Status value={automation.state} />
      </Group>
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          {t.proposal.versionIsActiveItsTriggers(automation.version, isActive)}
        </Text>
        <Starts wakes={proposal.review.impact?.wakes ?? []} />
        <Next automation={automation} />
        <Price forecast={proposal.review.forecast} compact />
        {may ? <SavedActions automation={automation} /> : (
          <Anchor
            component={Link}
            to="/automations/$automationId"
            params={{ automationId: automation.id } as never}
            size="sm"
          >
            {t.proposal.openTheAutomation}
          </Anchor>
        )}
      </Stack>
    </Card>
  );
}

export function Saved({ proposal }: { proposal: Proposal }) {
  const automation = api.useQuery("get", "/api/v1/automations/{automation_id}", {
    params: { path: { automation_id: proposal.saved_as ?? proposal.automation_id ?? "" } },
  });
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 7, xl: 8 }}>
        <Stack gap="lg">
          <QueryResult of={automation}>
            {(found) => <Step automation={found} proposal={proposal} />}
          </QueryResult>
          <Summary proposal={proposal} />
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5, xl: 4 }}>
        <ReviewPanel review={proposal.review} definition={proposal.definition} noted={[]} />
      </Grid.Col>
    </Grid>
  );
}
