// Open questions: their choices, how a free answer is parsed, and the answers so far. Input is kept
// as typed until it is sent.

import { isEqualJson, isObject } from "../../form/pointers";
import type { Question } from "../../review/reviewText";
import { t } from "../../strings";

/** The choice of a free answer. */
export const ELSE = "else";
export type GivenAnswer = { picked?: string; text?: string };
export type GivenAnswers = Record<string, GivenAnswer>;
export type Choice = { label: string; value: unknown };
export type Free = "line" | "zone" | "prose" | "number" | "lines" | "json";

const BY_HAND: Choice = { label: t.proposal.onlyManually, value: "by hand" };

const schemaOf = (question: Question) => question.schema as Record<string, unknown>;

const isClosed = (question: Question): boolean =>
  question.kind === "value" &&
  (Array.isArray(schemaOf(question).enum) || schemaOf(question).type === "boolean");

function offered(question: Question, zone: string | null): Choice[] {
  const { kind, choices } = question;
  const given = choices.map(({ label, value }) => ({ label, value }));
  const byHand = given.some((one) => one.value === null || /by hand/i.test(one.label));
  if (kind === "schedule") return byHand || !given.length ? given : [...given, BY_HAND];
  if (kind === "time_zone" && zone && !given.some((one) => one.value === zone)) {
    return [{ label: t.proposal.theZoneOfThisBrowser(zone), value: zone }, ...given];
  }
  return given;
}

/** The choices; empty: a free answer. */
export function choicesOf(question: Question, zone: string | null = null): Choice[] {
  const given = offered(question, zone);
  if (given.length || question.kind !== "value") return given;
  const schema = schemaOf(question);
  if (Array.isArray(schema.enum)) {
    return schema.enum.map((value) => ({ label: String(value), value }));
  }
  if (schema.type === "boolean") {
    return [{ label: t.proposal.yes, value: true }, { label: t.proposal.no, value: false }];
  }
  return [];
}

/** How a free answer is written; null: only the choices are allowed. */
export function freeOf(question: Question): Free | null {
  if (isClosed(question)) return null;
  if (question.kind === "schedule") return "line";
  if (question.kind === "time_zone") return "zone";
  if (question.kind === "words") return "prose";
  const schema = schemaOf(question);
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "array") {
    return isObject(schema.items) && schema.items.type === "string" ? "lines" : "json";
  }
  if (schema.type === "object") return "json";
  if (schema.type === undefined) return "json";
  return Number(schema.maxLength ?? 0) > 300 ? "prose" : "line";
}

/** Parsed as JSON if possible, otherwise text; the server validates it. */
export function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}

function read(free: Free, text: string): unknown {
  const message = text.trim();
  if (!message) return undefined;
  if (free === "json") return parseAnswer(message);
  if (free === "number") return Number.isFinite(Number(message)) ? Number(message) : message;
  if (free === "lines") return message.split("\n").map((one) => one.trim()).filter(Boolean);
  return message;
}

/** The answer; undefined while there is none. */
export function answerOf(
  question: Question,
  given: GivenAnswer = {},
  zone: string | null = null,
): unknown {
  const choices = choicesOf(question, zone);
  if (choices.length && given.picked !== ELSE) {
    return given.picked === undefined ? undefined : choices[Number(given.picked)]?.value;
  }
  const free = freeOf(question);
  return free ? read(free, given.text ?? "") : undefined;
}

/** All answers by question id. */
export function collectAnswers(
  questions: Question[],
  givens: GivenAnswers,
  zone: string | null = null,
) {
  const answers = questions.map((one) => [one.id, answerOf(one, givens[one.id], zone)] as const);
  return Object.fromEntries(answers.filter(([, answer]) => answer !== undefined));
}

/** The same answer for a question that is shown again. */
export function givenOf(
  question: Question,
  answer: unknown,
  zone: string | null = null,
): GivenAnswer {
  const place = choicesOf(question, zone).findIndex((one) => isEqualJson(one.value, answer));
  if (place >= 0) return { picked: String(place) };
  return { picked: ELSE, text: typeof answer === "string" ? answer : JSON.stringify(answer) };
}

const SECRET = /\{\{\s*secrets\.([a-z0-9_]+)\s*\}\}/;

/** The name of the secret in an answer, if any. */
export const secretIn = (answer: unknown): string | null =>
  typeof answer === "string" ? SECRET.exec(answer)?.[1] ?? null : null;
