// What an agent does, piece by piece: it thinks, calls, is told, costs and answers. Models and
// tools said all of it, so it is text and nothing else, with what cannot be seen spelled out.

import { el } from "./parts.js";
import { usd, visible } from "./words.js";

// Longer texts are folded away below their beginning.
const BRIEF = 300;

const spelled = (value) => visible(typeof value === "string" ? value : JSON.stringify(value ?? null, null, 1));
const oneLine = (value) => spelled(value).replace(/\s+/g, " ").trim();
const number = (value) => (typeof value === "number" ? value : 0);

function said(value) {
  const text = spelled(value);
  const line = oneLine(value);
  if (line.length <= BRIEF) return line;
  return el("details", {}, el("summary", {}, `${line.slice(0, BRIEF).trimEnd()} …`), el("div", { class: "whole" }, text));
}

const line = (tone, head, ...rest) => el("div", { class: `agent ${tone}` }, el("span", { class: "who" }, head), ...rest.flatMap((one) => [" ", one]));
const tool = (told) => oneLine(told.tool ?? "");

function result(told) {
  const held = told.outcome === "held";
  const outcome = held ? "waits for a person" : oneLine(told.outcome ?? "");
  return line(told.failed ? "err" : held ? "held" : "result", `← ${tool(told)} ${outcome}:`, said(told.text));
}

function turn(told) {
  const tokens = (number(told.input_tokens) + number(told.output_tokens)).toLocaleString("en");
  const cost = `${usd(number(told.cost_usd))} (${usd(number(told.total_usd))} so far)`;
  return line("turn", `turn ${number(told.turn)}: ${oneLine(told.model ?? "")}, ${tokens} tokens, ${cost}`);
}

const KINDS = {
  thought: (told) => line("thought", "thinks:", said(told.text)),
  call: (told) => line("call", `→ ${tool(told)}`, said(told.arguments)),
  result,
  refused: (told) => line("err", `→ ${tool(told)}`, said(told.arguments), "was not done:", said(told.text)),
  told: (told) => line("err", "is told:", said(told.text)),
  turn,
  answer: (told) =>
    told.how === "nothing"
      ? line("answer", "nothing to do:", said(told.text))
      : line("answer", "answers:", said(told.output ?? told.text)),
};

// The element for one line of an agent's stream; null for what is none of its pieces.
export function agentPiece(text) {
  let told = null;
  try {
    told = JSON.parse(text);
  } catch {
    return null;
  }
  return told && Object.hasOwn(KINDS, told.kind) ? KINDS[told.kind](told) : null;
}
