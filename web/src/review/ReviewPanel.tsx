// The review of a definition: findings, cost, impact, grants, and automations that overlap with it.

import { Anchor, Card, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Workflow } from "lucide-react";
import type { ReactNode } from "react";
import { Status } from "../kit/Status";
import { Approvals, type Choose } from "./Approvals";
import { Flags } from "./Flags";
import { GrantList } from "./GrantList";
import { Impact } from "./Impact";
import { Line, Lines } from "./Lines";
import { Price } from "./Price";
import {
  describeOverlap,
  type Forecast,
  type Review,
  type ReviewNote,
  reviewNotes,
} from "./reviewText";
import { escapeInvisible } from "../kit/format";
import { t } from "../strings";

export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card withBorder radius="lg" p="md" component="section" aria-label={title}>
      <Title order={3} size="h5" mb="sm">{title}</Title>
      {children}
    </Card>
  );
}

export function Overlaps({ overlaps }: { overlaps: Review["overlaps"] }) {
  if (!overlaps?.matches?.length) return null;
  return (
    <Lines title={t.review.similarAutomations}>
      {overlaps.matches.map((one) => (
        <Line
          key={one.automation_id}
          icon={Workflow}
          why={t.review.it(describeOverlap(one.how, overlaps))}
        >
          <Anchor
            component={Link}
            to="/automations/$automationId"
            params={{ automationId: one.automation_id } as never}
            inherit
          >
            {escapeInvisible(one.name)}
          </Anchor>{" "}
          <Status value={one.state} />
        </Line>
      ))}
    </Lines>
  );
}

type Props = {
  review: Review;
  /** A newer forecast than that of the review, if any. */
  forecast?: Forecast | null;
  /** Shows the essentials only, for narrow layouts. */
  compact?: boolean;
  /** The reviewer is shown elsewhere. */
  unsigned?: boolean;
  definition?: unknown;
  noted?: ReviewNote[];
  /** Focuses the field of a pointer. */
  go?: (pointer: string) => void;
  /** The definition to agree to, with the user's changes. */
  draft?: unknown;
  /** Sets an approval mode in the draft. */
  choose?: Choose;
};

export function ReviewPanel(props: Props) {
  const {
    review,
    forecast = review.forecast,
    compact = false,
    unsigned = compact,
    definition,
    go,
    draft = definition,
    choose,
  } = props;
  const writes = review.impact?.writes ?? [];
  const noted = props.noted ?? reviewNotes({ review });
  return (
    <Stack gap="sm">
      {noted.length
        ? (
          <Part title={t.review.toCheck(noted.length)}>
            <Flags noted={noted} definition={definition} go={go} />
          </Part>
        )
        : null}
      <Part title={t.review.cost}>
        <Price forecast={forecast} compact={compact} />
      </Part>
      {writes.length
        ? (
          <Part title={t.review.whatItSends}>
            <Approvals writes={writes} definition={draft} choose={choose} />
          </Part>
        )
        : null}
      <Part title={t.review.reach}>
        <Stack gap="md">
          <Impact impact={review.impact} />
          <Overlaps overlaps={review.overlaps} />
        </Stack>
      </Part>
      <Part title={t.review.whatItMayDo}>
        <GrantList grants={review.impact?.grants ?? []} />
      </Part>
      {unsigned || !review.reviewed_by?.note
        ? null
        : <Text size="xs" c="dimmed" px="md">{review.reviewed_by.note}</Text>}
    </Stack>
  );
}
