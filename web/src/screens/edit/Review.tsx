// The review on demand: description, warnings, cost and impact.

import { Alert, Anchor, Badge, Button, Card, Group, List, Stack, Text, Title } from "@mantine/core";
import { Sparkles } from "lucide-react";
import { memo, useState } from "react";
import { type Answer, client } from "../../api/client";
import { type Finding, focusPointer } from "../../form";
import { describePointer } from "../../form/pointers";
import { ProblemNote, SlowNote } from "../../kit/QueryResult";
import { escapeInvisible } from "../../kit/format";
import { Approvals, type Choose } from "../../review/Approvals";
import { GrantReach, GrantTitle } from "../../review/GrantText";
import { t } from "../../strings";

type ReviewResult = Answer<"review_automation">;

/** Warnings as findings at their fields. */
export const flagsOf = (problem: ReviewResult | null): Finding[] =>
  problem?.review.flags.map(({ pointer, text, level, suggestion }) => ({
    pointer,
    detail: text,
    level,
    suggestion,
  })) ?? [];

export function useReview(automationId: string | undefined) {
  const [result, setResult] = useState<ReviewResult | null>(null);
  const [of, setOf] = useState<unknown>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const ask = async (definition: unknown) => {
    setBusy(true);
    setProblem(null);
    try {
      const body = {
        definition: definition as Record<string, never>,
        ...(automationId ? { automation_id: automationId } : {}),
      };
      const { data } = await client.POST("/api/v1/reviews", { body });
      setResult(data ?? null);
      setOf(definition);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return { result, of, problem, busy, ask };
}

type Props = {
  review: ReturnType<typeof useReview>;
  definition: unknown;
  current: () => unknown;
  /** Sets an approval mode in the definition. */
  choose?: Choose;
};

const isSame = (one: Props, other: Props) =>
  one.definition === other.definition && one.review.result === other.review.result &&
  one.review.busy === other.review.busy && one.review.problem === other.review.problem &&
  one.choose === other.choose;

export const Review = memo(function Review({ review, definition, current, choose }: Props) {
  const { result, of, problem, busy, ask } = review;
  return (
    <Card withBorder radius="lg" p="lg">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">{t.edit.review}</Title>
        <Button
          size="compact-sm"
          variant="light"
          leftSection={<Sparkles size={14} />}
          loading={busy}
          onClick={() => void ask(current())}
        >
          {result ? t.edit.reviewAgain : t.edit.review2}
        </Button>
      </Group>
      {busy ? <SlowNote text={t.edit.reviewing} /> : null}
      {problem ? <ProblemNote problem={problem} /> : null}
      {result
        ? <ReviewResult {...{ review: result, definition, choose }} isOld={of !== definition} />
        : <Text size="sm" c="dimmed">{t.edit.aSummaryPointsToCheck}</Text>}
    </Card>
  );
}, isSame);

type ReviewDetailsProps = {
  review: ReviewResult;
  isOld: boolean;
  definition: unknown;
  choose?: Choose;
};

function ReviewResult({ review: problem, isOld, definition, choose }: ReviewDetailsProps) {
  const { review } = problem;
  return (
    <Stack gap="md">
      {isOld ? <Text size="sm" c="var(--busy)">{t.edit.changedSinceThisReview}</Text> : null}
      <Text size="sm">{escapeInvisible(review.summary)}</Text>
      {review.opinion ? <Text size="sm" c="dimmed">{escapeInvisible(review.opinion)}</Text> : null}
      {review.flags.length
        ? <Flags review={problem} definition={definition} />
        : <Text size="sm" c="dimmed">{t.edit.nothingToPointOut}</Text>}
      <Stack gap={4}>
        <Title order={3} size="h6">{t.edit.cost}</Title>
        <Text size="sm">{review.forecast.sentence}</Text>
      </Stack>
      {review.impact.writes.length
        ? (
          <Stack gap={4}>
            <Title order={3} size="h6">{t.edit.whatItSends}</Title>
            <Approvals writes={review.impact.writes} definition={definition} choose={choose} />
          </Stack>
        )
        : null}
      <Impact review={problem} />
    </Stack>
  );
}

function Flags({ review: problem, definition }: { review: ReviewResult; definition: unknown }) {
  return (
    <Stack gap={6}>
      <Title order={3} size="h6">{t.edit.toCheck}</Title>
      {problem.review.flags.map(({ pointer, text, level, suggestion }) => (
        <Alert
          key={pointer + text}
          p="xs"
          variant="light"
          color={level === "warning" ? "yellow" : "gray"}
        >
          <Anchor
            component="button"
            type="button"
            size="sm"
            c="inherit"
            td="underline"
            onClick={() => focusPointer(pointer)}
          >
            {escapeInvisible(describePointer(definition, pointer))}
          </Anchor>
          <Text size="sm">
            {escapeInvisible(text)} {suggestion ? escapeInvisible(suggestion) : ""}
          </Text>
        </Alert>
      ))}
    </Stack>
  );
}

function Impact({ review: problem }: { review: ReviewResult }) {
  const { grants, outside, secrets } = problem.review.impact;
  return (
    <Stack gap={6}>
      <Title order={3} size="h6">{t.edit.access}</Title>
      {outside.map((one) => (
        <Group key={one.system + one.effect} gap={6}>
          <Text size="sm">{one.system}</Text>
          <Badge
            size="sm"
            variant="light"
            tt="none"
            color={one.effect === "send" ? "yellow" : "gray"}
          >
            {one.effect === "send" ? t.edit.sends : t.edit.reads}
          </Badge>
          {one.hosts.length ? <Text size="xs" c="dimmed">{one.hosts.join(", ")}</Text> : null}
        </Group>
      ))}
      {grants.length
        ? (
          <List size="sm">
            {grants.map((one) => (
              <List.Item key={one.capability + JSON.stringify(one.params)}>
                <GrantTitle grant={one} />
                <Text size="xs" c="dimmed">
                  <GrantReach grant={one} />
                </Text>
              </List.Item>
            ))}
          </List>
        )
        : <Text size="sm" c="dimmed">{t.edit.nothingBeyondItsOwnSteps}</Text>}
      {secrets.length
        ? <Text size="sm">{t.edit.secrets(secrets.map((one) => one.name).join(", "))}</Text>
        : null}
    </Stack>
  );
}
