// Open questions that block saving, each a required field.

import {
  Anchor,
  Autocomplete,
  Button,
  Card,
  Group,
  NumberInput,
  Radio,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { MessageCircleQuestion } from "lucide-react";
import { type FormEvent, useEffect, useMemo, useRef } from "react";
import { describePointer } from "../../form/pointers";
import type { Question } from "../../review/reviewText";
import {
  answerOf,
  type Choice,
  choicesOf,
  ELSE,
  type Free,
  freeOf,
  type GivenAnswer,
  type GivenAnswers,
  secretIn,
} from "./answers";
import { t } from "../../strings";

const HINTS: Record<string, string> = {
  schedule: t.proposal.inWordsForExampleEvery,
  time_zone: t.proposal.aZoneOrAPlace,
};

const zones = () => Intl.supportedValuesOf?.("timeZone") ?? [];

type FieldProps = {
  free: Free;
  label?: string;
  "aria-label"?: string;
  description?: React.ReactNode;
  value: string;
  placeholder?: string;
  error?: string;
  disabled?: boolean;
  required?: boolean;
  onText: (text: string) => void;
};

function FreeField({ free, onText, ...shared }: FieldProps) {
  const all = useMemo(() => (free === "zone" ? zones() : []), [free]);
  if (free === "zone") return <Autocomplete {...shared} data={all} limit={8} onChange={onText} />;
  if (free === "number") {
    return <NumberInput {...shared} onChange={(value) => onText(String(value))} hideControls />;
  }
  if (free === "line") {
    return (
      <TextInput
        {...shared}
        autoComplete="off"
        onChange={(event) => onText(event.currentTarget.value)}
      />
    );
  }
  return (
    <Textarea
      {...shared}
      description={free === "lines" ? t.proposal.onePerLine : shared.description}
      autosize
      minRows={2}
      maxRows={12}
      className={free === "json" ? "mono" : undefined}
      onChange={(event) => onText(event.currentTarget.value)}
    />
  );
}

type QuestionFieldProps = {
  question: Question;
  given: GivenAnswer;
  zone: string | null;
  definition: unknown;
  error?: string;
  disabled: boolean;
  onGiven: (given: GivenAnswer) => void;
  go: (pointer: string) => void;
};

function Choices({ choices, ...props }: QuestionFieldProps & { choices: Choice[] }) {
  const { question, given, error, disabled, onGiven } = props;
  const free = freeOf(question);
  return (
    <Radio.Group
      label={question.question}
      description={question.why}
      value={given.picked ?? null}
      onChange={(picked) => onGiven({ ...given, picked })}
      error={error}
      required
      disabled={disabled}
    >
      <Stack gap={8} mt="xs">
        {choices.map((one, at) => <Radio key={at} value={String(at)} label={one.label} required />)}
        {free
          ? (
            <>
              <Radio value={ELSE} label={t.proposal.other} />
              {given.picked === ELSE
                ? (
                  <FreeField
                    free={free}
                    aria-label={t.proposal.other2(question.question)}
                    placeholder={HINTS[question.kind]}
                    value={given.text ?? ""}
                    onText={(text) => onGiven({ ...given, text })}
                    required
                  />
                )
                : null}
            </>
          )
          : null}
      </Stack>
    </Radio.Group>
  );
}

function QuestionField(props: QuestionFieldProps) {
  const { question, given, error, disabled, onGiven, zone, definition, go } = props;
  const choices = choicesOf(question, zone);
  const secret = secretIn(answerOf(question, given, zone));
  return (
    <div data-question={question.id}>
      {choices.length ? <Choices {...props} choices={choices} /> : (
        <FreeField
          free={freeOf(question) ?? "line"}
          label={question.question}
          description={question.why}
          placeholder={HINTS[question.kind]}
          value={given.text ?? ""}
          onText={(text) => onGiven({ text })}
          error={error}
          disabled={disabled}
          required
        />
      )}
      <Text size="xs" c="dimmed" mt={6} component="div">
        {question.kind !== "words" && question.pointer
          ? (
            <>
              {t.proposal.for(
                <Anchor
                  underline="always"
                  component="button"
                  type="button"
                  inherit
                  onClick={() => go(question.pointer)}
                >
                  {describePointer(definition, question.pointer)}
                </Anchor>,
              )}
            </>
          )
          : null}
        {secret
          ? (
            <>
              {" · "}
              <Anchor
                underline="always"
                component={Link}
                to="/secrets"
                target="_blank"
                inherit
              >
                {t.proposal.addTheSecret(secret)}
              </Anchor>
            </>
          )
          : null}
      </Text>
    </div>
  );
}

type Props = {
  questions: Question[];
  givens: GivenAnswers;
  zone: string | null;
  definition: unknown;
  errors: Record<string, string>;
  busy: boolean;
  disabled: boolean;
  onGiven: (id: string, given: GivenAnswer) => void;
  onAnswer: () => void;
  go: (pointer: string) => void;
};

export function Questions(props: Props) {
  const { questions, givens, errors, busy, disabled, onGiven, onAnswer } = props;
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const [first] = Object.keys(errors);
    const found = first &&
      form.current?.querySelector(`[data-question="${CSS.escape(first)}"] input`);
    if (found instanceof HTMLElement) found.focus();
  }, [errors]);
  const answer = (event: FormEvent) => {
    event.preventDefault();
    onAnswer();
  };
  return (
    <Card
      withBorder
      radius="lg"
      p="lg"
      component="section"
      aria-label={t.proposal.questions}
      style={{ borderColor: "var(--busy)" }}
    >
      <Group gap="xs" mb={4}>
        <MessageCircleQuestion size={18} aria-hidden style={{ color: "var(--busy)" }} />
        <Title order={2} size="h4">{t.proposal.questionBeforeItCanBe(questions.length)}</Title>
      </Group>
      <Text size="sm" c="dimmed" mb="md">{t.proposal.onlyAPersonCanAnswer}</Text>
      <form ref={form} onSubmit={answer}>
        <Stack gap="lg">
          {questions.map((one) => (
            <QuestionField
              key={one.id}
              {...props}
              question={one}
              given={givens[one.id] ?? {}}
              error={errors[one.id]}
              onGiven={(given) => onGiven(one.id, given)}
            />
          ))}
          <Group>
            <Button type="submit" loading={busy} disabled={disabled}>{t.proposal.answer}</Button>
          </Group>
        </Stack>
      </form>
    </Card>
  );
}
