// The conversation: earlier messages, and a new instruction.

import { Box, Button, Card, Group, Stack, Text, Textarea, Title } from "@mantine/core";
import type { FormEvent, KeyboardEvent } from "react";
import type { Proposal } from "../../review/reviewText";
import { ProposalProgress } from "../new/ProposalProgress";
import { t } from "../../strings";

type Props = {
  proposal: Proposal;
  text: string;
  error: string | null;
  busy: boolean;
  disabled: boolean;
  onText: (text: string) => void;
  onSend: () => void;
};

function MessageList({ talk }: { talk: Proposal["talk"] }) {
  const messages = talk.filter((one) => one.text);
  if (messages.length < 2) return null;
  return (
    <Stack
      gap="xs"
      component="ol"
      p={0}
      m={0}
      style={{ listStyle: "none" }}
      aria-label={t.proposal.conversation}
    >
      {messages.map((one, at) => (
        <Box
          component="li"
          key={at}
          px="sm"
          py={6}
          maw="85%"
          className="wrap-anywhere"
          style={{
            alignSelf: one.by === "person" ? "flex-end" : "flex-start",
            background: "var(--soft)",
            border: "1px solid var(--line)",
            borderRadius: 10,
          }}
        >
          <Text size="xs" c="dimmed">
            {one.by === "person" ? t.proposal.you : t.proposal.proposal}
          </Text>
          <Text size="sm" style={{ whiteSpace: "pre-wrap" }}>{one.text}</Text>
        </Box>
      ))}
    </Stack>
  );
}

export function Conversation({ proposal, text, error, busy, disabled, onText, onSend }: Props) {
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) onSend();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && text.trim()) onSend();
  };
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.proposal.describeAChange}>
      <Title order={2} size="h4" mb="sm">{t.proposal.describeAChange}</Title>
      <Stack gap="sm">
        <MessageList talk={proposal.talk} />
        <form onSubmit={send}>
          <Stack gap="sm">
            <Textarea
              aria-label={t.proposal.whatShouldBeDifferent}
              placeholder={t.proposal.forExampleOnlyOnMondays}
              value={text}
              onChange={(event) =>
                onText(event.currentTarget.value)}
              onKeyDown={onKey}
              error={error}
              readOnly={busy}
              maxLength={4000}
              autosize
              minRows={2}
              maxRows={10}
            />
            <Group justify="space-between">
              {busy
                ? (
                  <ProposalProgress
                    byModel={proposal.made_by.by === "model"}
                    what={t.proposal.rewriting2}
                  />
                )
                : <span />}
              <Button
                type="submit"
                variant="default"
                loading={busy}
                disabled={disabled || !text.trim()}
              >
                {t.proposal.apply}
              </Button>
            </Group>
          </Stack>
        </form>
      </Stack>
    </Card>
  );
}
