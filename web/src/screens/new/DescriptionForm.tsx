// The text box for a description, the choice of author (rules or a model), and the submit button.

import { Button, Card, Group, Kbd, Select, Stack, Text, Textarea } from "@mantine/core";
import { Sparkles } from "lucide-react";
import { type FormEvent, type KeyboardEvent, type Ref, useState } from "react";
import { api } from "../../api/client";
import { ProblemNote } from "../../kit/QueryResult";
import { knownZone, type ProposalRequest } from "./usePropose";
import { ProposalProgress } from "./ProposalProgress";
import { t } from "../../strings";

const RULES = t.create.rulesOnly;

type Props = {
  text: string;
  onText: (text: string) => void;
  label: string;
  placeholder: string;
  busy: boolean;
  problem: unknown;
  propose: (request: ProposalRequest) => void;
  box: Ref<HTMLTextAreaElement>;
};

function useMakers() {
  const { data } = api.useQuery("get", "/api/v1/models");
  const usual = data?.usual_model ?? null;
  const names = (data?.models ?? []).filter((one) => one.can_be_asked).map((one) => one.name);
  const makers = usual ? [usual, ...names.filter((one) => one !== usual), RULES] : [];
  return { usual, makers, isKnown: data !== undefined };
}

export function DescriptionForm(
  { text, onText, label, placeholder, busy, problem, propose, box }: Props,
) {
  const { usual, makers, isKnown } = useMakers();
  const [picked, setPicked] = useState<string | null>(null);
  const maker = picked ?? usual;
  const byModel = maker !== null && maker !== RULES;
  const zone = knownZone();
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (!text.trim() || busy) return;
    if (!usual) return propose({ text });
    propose(
      byModel
        ? { text, by: "auto", model: maker === usual ? undefined : maker }
        : { text, by: "rules" },
    );
  };
  // As in a chat: Enter inserts a line break, and Ctrl or ⌘ with Enter submits.
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      send(event as unknown as FormEvent);
    }
  };
  return (
    <Card withBorder radius="lg" p="lg" component="form" onSubmit={send}>
      <Stack gap="md">
        <Textarea
          ref={box}
          label={label}
          labelProps={{ fz: "md", fw: 650, mb: 6 }}
          description={t.create.describeItAsYouWould}
          placeholder={placeholder}
          value={text}
          onChange={(event) => onText(event.currentTarget.value)}
          onKeyDown={onKey}
          autosize
          minRows={4}
          maxRows={14}
          maxLength={4000}
          size="md"
          autoFocus
          readOnly={busy}
          required
          withAsterisk={false}
        />
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group justify="space-between" align="flex-end" gap="sm">
          {busy ? <ProposalProgress byModel={byModel} /> : makers.length
            ? (
              <Select
                label={t.create.writtenBy}
                description={byModel ? t.create.forAtMost050 : t.create.noModelIsUsed}
                inputWrapperOrder={["label", "input", "description"]}
                data={makers}
                value={maker}
                onChange={setPicked}
                allowDeselect={false}
                size="sm"
                w={260}
              />
            )
            : (
              <Text size="xs" c="dimmed" maw={420}>
                {isKnown ? t.create.noModelIsConnectedRules : null}
              </Text>
            )}
          <Button
            type="submit"
            size="md"
            leftSection={<Sparkles size={16} />}
            loading={busy}
            disabled={!text.trim()}
          >
            {t.create.createAProposal}
          </Button>
        </Group>
        <Text size="xs" c="dimmed">
          {t.create.youReviewThePlanIts(
            <Kbd size="xs">Ctrl</Kbd>,
            <Kbd size="xs">Enter</Kbd>,
            zone ? t.create.timesAreInUnlessYou(zone) : "",
          )}
        </Text>
      </Stack>
    </Card>
  );
}
