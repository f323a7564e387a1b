// A question of a plan: its run is suspended until somebody answers it in a form.

import { Anchor, Button, Group, Kbd, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Check, X } from "lucide-react";
import { useState } from "react";
import { Problem, sentence } from "../../api/problem";
import { isAtLeast, type Session, useSession } from "../../api/session";
import { type Finding, type Schema, SchemaForm } from "../../form";
import { ProblemNote } from "../../kit/QueryResult";
import { notifyDone } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { Json } from "../../kit/Json";
import { Timestamp } from "../../kit/Timestamp";
import { Status } from "../../kit/Status";
import { escapeInvisible } from "../../kit/format";
import { Lines, TextLines } from "../../previews/Value";
import { answerQuestion } from "./answers";
import { initialAnswer } from "./initialAnswer";
import { useKeyActions } from "./keyActions";
import { SendingNote } from "./DraftPane";
import { approve } from "./ApprovalUndo";
import { useDelayedApprovals } from "./delayedApprovals";
import { useNameOf } from "./ItemOutcome";
import type { Question } from "./items";
import { Until } from "./Origin";
import { t } from "../../strings";

type Props = { question: Question; onAnswered: () => void };

export function QuestionPane(props: Props) {
  const { question } = props;
  return (
    <Stack gap="md" key={question.approval_id}>
      <Title order={2} size="h4" className="wrap-anywhere">{escapeInvisible(question.title)}</Title>
      {question.message
        ? (
          <div className="delivered question">
            <TextLines text={question.message} />
          </div>
        )
        : null}
      <Facts question={question} />
      {question.status === "pending"
        ? <Answering key={question.approval_id} {...props} />
        : <Answered question={question} />}
    </Stack>
  );
}

function describeTimeout(usual: unknown): string {
  if (usual === null || usual === undefined) return t.inbox.theStepFails;
  return t.inbox.theAnswerIs(
    escapeInvisible(typeof usual === "object" ? JSON.stringify(usual) : String(usual)),
  );
}

function Facts({ question }: { question: Question }) {
  const lines = [
    {
      name: t.inbox.requestedBy,
      value: (
        <Text size="sm" className="wrap-anywhere" component="div">
          <Anchor
            component={Link}
            to={`/automations/${question.automation_id}`}
            size="sm"
          >
            {escapeInvisible(question.automation ?? t.inbox.anAutomation)}
          </Anchor>
          {t.inbox.in2}
          <Anchor component={Link} to={`/runs/${question.run_id}`} size="sm">
            {t.inbox.thisRun}
          </Anchor>
          {question.step
            ? <>{t.inbox.step(<span className="mono">{escapeInvisible(question.step)}</span>)}</>
            : null} <Timestamp at={question.created_at} />
        </Text>
      ),
    },
    {
      name: t.inbox.canAnswer,
      value: (
        <Text size="sm">
          {question.roles ? question.roles.join(" or ") : t.inbox.anyoneWithTheRoleOperator}
        </Text>
      ),
    },
  ];
  const waits = [
    { name: "expires", value: <Until at={question.expires_at} over="expired" /> },
    {
      name: "otherwise",
      value: <Text size="sm" className="wrap-anywhere">{describeTimeout(question.default)}</Text>,
    },
  ];
  return <Lines lines={question.status === "pending" ? [...lines, ...waits] : lines} />;
}

const mayAnswer = (who: Session, question: Question) =>
  isAtLeast(who, "operator") && (!question.roles || question.roles.includes(who.role));

function Answering({ question, onAnswered }: Props) {
  const who = useSession();
  const ask = useConfirm();
  const form = question.form as Schema | null;
  const [answer, setAnswer] = useState<unknown>(() => form ? initialAnswer(form) : undefined);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const held = useDelayedApprovals().find((one) =>
    one.state !== "finished" && one.id === question.approval_id
  );
  const may = mayAnswer(who, question);
  const say = async (decision: "approved" | "declined") => {
    setBusy(true);
    setProblem(null);
    try {
      await answerQuestion(
        question,
        decision,
        decision === "approved" && form ? answer : undefined,
      );
      notifyDone(
        decision === "approved"
          ? t.inbox.approvedTheRunContinuesWith
          : t.inbox.declinedTheRunReceivedYour,
      );
      onAnswered();
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
  };
  const decline = async () => {
    const message = t.inbox.theRunReceivesYourAnswer;
    if (
      await ask({ title: t.inbox.declineThis2, message, yes: t.inbox.decline2, dangerous: true })
    ) {
      await say("declined");
    }
  };
  const agree = () => {
    if (form) return void say("approved");
    const { approval_id: id, title } = question;
    if (approve({ id, drafts: [id], title, send: () => fetchAnswer(question) })) onAnswered();
  };
  useKeyActions(
    may && !held ? { approve: form ? undefined : agree, discard: () => void decline() } : null,
  );
  if (held) return <SendingNote held={held} />;
  if (!may) {
    const whom = question.roles ? question.roles.join(" or ") : t.inbox.operatorOrHigher;
    return (
      <Text size="sm" c="dimmed">{t.inbox.yourRoleCanOnlyViewAnswering2(who.role, whom)}</Text>
    );
  }
  return (
    <form
      noValidate
      aria-label={question.title}
      onSubmit={(event) => {
        event.preventDefault();
        agree();
      }}
    >
      <Stack gap="md">
        {form
          ? (
            <SchemaForm
              schema={form}
              value={answer}
              onChange={setAnswer}
              findings={findingsOf(problem)}
            />
          )
          : null}
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group gap="xs">
          <Button type="submit" loading={busy} leftSection={<Check size={15} />}>
            {form ? t.inbox.approveWithThisAnswer : t.inbox.approve2}
          </Button>
          <Button
            variant="default"
            leftSection={<X size={15} />}
            disabled={busy}
            onClick={() => void decline()}
          >
            {t.inbox.decline2} <Kbd size="xs" ml={6} visibleFrom="sm">D</Kbd>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

async function fetchAnswer(question: Question) {
  try {
    await answerQuestion(question, "approved");
    return { tone: "good", text: t.inbox.approvedTheRunContinues } as const;
  } catch (problem) {
    return { tone: "bad", text: sentence(problem) } as const;
  }
}

/** The server's findings about the answer, by form field. */
function findingsOf(problem: unknown): Finding[] {
  if (!(problem instanceof Problem)) return [];
  return problem.findings.map(({ pointer, detail, suggestion, code }) => ({
    pointer: pointer.replace(/^\/answer/, ""),
    detail: code === "required" ? t.inbox.thisFieldIsRequired : detail,
    level: "error",
    ...(suggestion ? { suggestion } : {}),
  }));
}

function Answered({ question }: { question: Question }) {
  const nameOf = useNameOf();
  const story = question.status === "expired"
    ? t.inbox.nobodyAnsweredInTime(describeTimeout(question.default))
    : t.inbox.by(nameOf(question.answered_by));
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Status value={question.status} />
        <Text size="sm">
          {story} <Timestamp at={question.answered_at ?? question.expires_at} />
        </Text>
      </Group>
      {question.answer !== null && question.answer !== undefined
        ? <Json value={question.answer} label={t.inbox.theAnswer} />
        : null}
    </Stack>
  );
}
