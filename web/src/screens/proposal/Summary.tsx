// The summary: what it does, step by step, and how the request was interpreted.

import {
  Box,
  Card,
  Collapse,
  Group,
  List,
  Stack,
  Text,
  Title,
  UnstyledButton,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { ChevronDown, ChevronRight } from "lucide-react";
import { explain, type Proposal } from "../../review/reviewText";
import { t } from "../../strings";

function Request({ proposal }: { proposal: Proposal }) {
  return (
    <Box pl="md" style={{ borderLeft: "3px solid var(--line)" }} component="blockquote" m={0}>
      <Text size="xs" c="dimmed">{t.proposal.yourRequest}</Text>
      <Text size="sm" className="wrap-anywhere">{proposal.request}</Text>
    </Box>
  );
}

function Details({ rest }: { rest: string[] }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const Icon = isOpen ? ChevronDown : ChevronRight;
  if (!rest.length) return null;
  return (
    <Box>
      <UnstyledButton onClick={toggle} aria-expanded={isOpen}>
        <Group gap={4}>
          <Icon size={14} aria-hidden />{" "}
          <Text size="sm">{t.proposal.failureHandlingAndLimits}</Text>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        <Stack gap={6} mt="xs">
          {rest.map((one) => <Text size="sm" key={one}>{one}</Text>)}
        </Stack>
      </Collapse>
    </Box>
  );
}

export function Summary({ proposal }: { proposal: Proposal }) {
  const { review, made_by: made } = proposal;
  // If no model was used although one was requested, this is shown prominently.
  const notes = made.by === "rules" && made.note ? [...proposal.notes, made.note] : proposal.notes;
  const { steps, rest } = explain(review);
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.proposal.summary}>
      <Stack gap="lg">
        <Request proposal={proposal} />
        <Box>
          <Title order={2} size="h5" c="dimmed" fw={600} mb={6}>{t.proposal.summary}</Title>
          <Text size="lg" lh={1.5} className="wrap-anywhere">{review.summary}</Text>
        </Box>
        {review.opinion
          ? <Text size="sm" c="dimmed">{t.proposal.modelsAssessment(review.opinion)}</Text>
          : null}
        {steps.length
          ? (
            <ol className="summary-steps">
              {steps.map((one, at) => (
                <li key={at}>
                  <span className="number" aria-hidden>{at + 1}</span>
                  <Text size="sm" className="wrap-anywhere">{one}</Text>
                </li>
              ))}
            </ol>
          )
          : null}
        {notes.length
          ? (
            <Box>
              <Text size="xs" c="dimmed" mb={4}>{t.proposal.howYourDescriptionWasRead}</Text>
              <List size="sm" spacing={4}>
                {notes.map((one) => <List.Item key={one}>{one}</List.Item>)}
              </List>
            </Box>
          )
          : null}
        <Details rest={rest} />
      </Stack>
    </Card>
  );
}
