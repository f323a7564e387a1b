// The transcript of an agent: reasoning, calls, results, cost and answers. It comes from models and
// tools, so it is rendered as plain text only.

import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { escapeInvisible, formatUsd } from "../../kit/format";
import type { AgentPiece } from "./stepOutput";
import { locale, t } from "../../strings";

// Longer texts are truncated until expanded.
const BRIEF = 300;

const spelled = (value: unknown) =>
  escapeInvisible(typeof value === "string" ? value : JSON.stringify(value ?? null, null, 1));
const oneLine = (value: unknown) => spelled(value).replace(/\s+/g, " ").trim();
const number = (value: unknown) => (typeof value === "number" ? value : 0);

function Text_({ value }: { value: unknown }) {
  const line = oneLine(value);
  if (line.length <= BRIEF) return <span>{line}</span>;
  return (
    <details>
      <summary>{line.slice(0, BRIEF).trimEnd()} …</summary>
      <pre tabIndex={0}>{spelled(value)}</pre>
    </details>
  );
}

function Part({ tone, head, children }: { tone: string; head: string; children?: ReactNode }) {
  return (
    <div className={`run-agent ${tone}`}>
      <Text size="sm" component="div">
        <Text span size="sm" fw={600}>{head}</Text> {children}
      </Text>
    </div>
  );
}

function Turn({ piece: answer }: { piece: AgentPiece }) {
  const tokens = (number(answer.input_tokens) + number(answer.output_tokens)).toLocaleString(
    locale,
  );
  const cost = t.run.soFar(formatUsd(number(answer.cost_usd)), formatUsd(number(answer.total_usd)));
  return (
    <Text size="xs" c="dimmed" pt={4}>
      {t.run.turnTokens(number(answer.turn), oneLine(answer.model ?? ""), tokens, cost)}
    </Text>
  );
}

function Piece({ piece: answer }: { piece: AgentPiece }) {
  const tool = oneLine(answer.tool ?? "");
  switch (answer.kind) {
    case "thought":
      return (
        <Part tone="thought" head={t.run.thought}>
          <Text_ value={answer.text} />
        </Part>
      );
    case "call":
      return (
        <Part tone="call" head={t.run.calls(tool)}>
          <Text_ value={answer.arguments} />
        </Part>
      );
    case "result": {
      const held = answer.outcome === "held";
      const outcome = held ? t.run.waitsForAPerson : oneLine(answer.outcome ?? "");
      return (
        <Part tone={answer.failed ? "err" : "result"} head={`${tool} ${outcome}:`}>
          <Text_ value={answer.text} />
        </Part>
      );
    }
    case "refused":
      return (
        <Part tone="err" head={t.run.calls(tool)}>
          {t.run.failed(<Text_ value={answer.arguments} />, <Text_ value={answer.text} />)}
        </Part>
      );
    case "told":
      return (
        <Part tone="err" head={t.run.message}>
          <Text_ value={answer.text} />
        </Part>
      );
    case "turn":
      return <Turn piece={answer} />;
    case "answer":
      return answer.how === "nothing"
        ? (
          <Part tone="answer" head={t.run.nothingToDo}>
            <Text_ value={answer.text} />
          </Part>
        )
        : (
          <Part tone="answer" head={t.run.answer2}>
            <Text_ value={answer.output ?? answer.text} />
          </Part>
        );
    default:
      return null;
  }
}

export function Agent({ pieces }: { pieces: AgentPiece[] }) {
  return (
    <Stack gap={8} role="log" aria-label={t.run.agentTranscript}>
      {pieces.map((answer, at) => <Piece key={at} piece={answer} />)}
    </Stack>
  );
}
