// The output of the steps of a run, assembled from chunks that may be duplicated or out of order.

import { keyOf } from "./keys";

export type Piece = {
  step: string;
  item: string;
  attempt: number;
  seq: number;
  stream: "out" | "err" | "end" | "agent";
  text: string;
  at: string;
};
export type Line = { number: number; stream: "out" | "err"; text: string };
/** Chunks by step key and attempt number, each once and in order. */
export type StepOutput = Readonly<Record<string, readonly Piece[]>>;

// A page with more output per attempt becomes slow; the full output has its own URL.
export const MOST_PIECES = 20_000;

export const tryKey = (key: string, attempt: number) => `${key}@${attempt}`;

/** Adds chunks; the input is not mutated. */
export function withPieces(output: StepOutput, pieces: readonly Piece[]): StepOutput {
  if (pieces.length === 0) return output;
  const next: Record<string, readonly Piece[]> = { ...output };
  const fresh = new Map<string, Piece[]>();
  for (const piece of pieces) {
    const key = tryKey(keyOf(piece), piece.attempt);
    const list = fresh.get(key) ?? [...(next[key] ?? [])];
    fresh.set(key, list);
    const last = list.at(-1);
    if (!last || last.seq < piece.seq) list.push(piece);
    else if (!list.some((one) => one.seq === piece.seq)) {
      list.push(piece);
      list.sort((one, other) => one.seq - other.seq);
    }
  }
  for (const [key, list] of fresh) {
    next[key] = list.length > MOST_PIECES ? list.slice(-MOST_PIECES) : list;
  }
  return next;
}

/** The lines of an attempt, numbered from 1; an incomplete line is last. */
export function linesOf(pieces: readonly Piece[]): Line[] {
  const lines: Line[] = [];
  const begun = { out: "", err: "" };
  for (const { stream, text } of pieces) {
    if (stream !== "out" && stream !== "err") continue;
    const parts = (begun[stream] + text).split("\n");
    begun[stream] = parts.pop() ?? "";
    for (const part of parts) lines.push({ number: lines.length + 1, stream, text: part });
  }
  for (const stream of ["out", "err"] as const) {
    if (begun[stream]) lines.push({ number: lines.length + 1, stream, text: begun[stream] });
  }
  return lines;
}

export type AgentPiece = { kind: string } & Record<string, unknown>;

/** The transcript of an agent; an incomplete line is skipped. */
export function agentOf(pieces: readonly Piece[]): AgentPiece[] {
  const text = pieces.filter((one) => one.stream === "agent").map((one) => one.text).join("");
  const made: AgentPiece[] = [];
  for (const line of text.split("\n")) {
    try {
      const answer: unknown = JSON.parse(line);
      if (answer && typeof answer === "object" && "kind" in answer) made.push(answer as AgentPiece);
    } catch {
      // Incomplete, or not part of the transcript.
    }
  }
  return made;
}
