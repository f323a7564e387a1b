// Unsent input is never lost: not by a response, a reload, or a concurrent change.

import { describe, expect, test } from "vitest";
import { Problem } from "../../api/problem";
import type { Proposal, Question } from "../../review/reviewText";
import { answerOf, collectAnswers, ELSE, givenOf } from "./answers";
import { type Draft, reduceDraft, requestOf, restoreDraft, toStored } from "./draft";
import { nextFires } from "./fireTimes";
import { distributeErrors } from "./errors";
import { describeBlocker } from "./saveBlockers";

const question = (more: Partial<Question>): Question => ({
  id: "q",
  kind: "value",
  pointer: "/plan/0/config/x",
  question: "Which?",
  why: "",
  schema: {} as never,
  choices: [],
  others: [],
  ...more,
});

const proposal = (revision: number, definition: object, more: object = {}) =>
  ({
    proposal_id: "p",
    revision,
    definition,
    status: "ready",
    questions: [],
    problems: [],
    ...more,
  }) as unknown as Proposal;

const writing = (draft: Draft, definition: Record<string, unknown>) =>
  reduceDraft(draft, { kind: "definition", definition });

describe("a draft", () => {
  const first = proposal(1, { name: "A", plan: [{ step_id: "x" }] });
  const written = writing(restoreDraft(first, null), { name: "B", plan: [{ step_id: "x" }] });
  const edits = [{ pointer: "/name", value: "B" }];

  test("comes back after a reload of the same revision", () => {
    const kept = JSON.parse(JSON.stringify(toStored(written, edits)));
    expect(restoreDraft(first, kept).definition.name).toBe("B");
    expect(restoreDraft(first, kept).parked).toBeNull();
  });

  test("is set aside after a concurrent change, and both are offered", () => {
    const theirs = proposal(2, { name: "C", goal: "g", plan: [] });
    const moved = reduceDraft(written, { kind: "arrived", proposal: theirs });
    expect(moved.definition.name).toBe("C");
    expect(moved.parked).toEqual(edits);
    expect(reduceDraft(moved, { kind: "mine" }).definition).toEqual({
      name: "B",
      goal: "g",
      plan: [],
    });
    expect(reduceDraft(moved, { kind: "theirs" })).toMatchObject({ parked: null, held: theirs });
    // Also after a reload before the conflict is resolved.
    const kept = toStored(moved, []);
    expect(restoreDraft(theirs, kept).parked).toEqual(edits);
  });

  test("separates edits whose pointer no longer exists", () => {
    const deep = [{ pointer: "/plan/0/step_id", value: "y" }];
    const kept = { revision: 1, edits: deep, givens: {}, instruction: "" };
    const moved = restoreDraft(proposal(2, { name: "C", plan: [] }), kept);
    expect(reduceDraft(moved, { kind: "mine" })).toMatchObject({
      lost: deep,
      definition: { plan: [] },
    });
  });

  test("a stale response changes nothing", () => {
    expect(reduceDraft(written, { kind: "arrived", proposal: first })).toBe(written);
  });

  test("is sent as edits with the revision that was read", () => {
    expect(requestOf(written, edits)).toEqual({ revision: 1, edits });
  });
});

test("answers are collected in their type", () => {
  const zone = question({
    id: "zone",
    kind: "time_zone",
    choices: [{ label: "UTC", value: "UTC" }],
  });
  const many = question({ id: "many", schema: { type: "integer" } as never });
  const who = question({
    id: "who",
    schema: { type: "array", items: { type: "string" } } as never,
  });
  const sure = question({ id: "sure", schema: { type: "boolean" } as never });
  const when = question({
    id: "when",
    kind: "schedule",
    choices: [{ label: "at nine", value: 9 }],
  });
  const all = [zone, many, who, sure, when];
  const givens = {
    zone: { picked: ELSE, text: " Berlin " },
    many: { text: "3" },
    who: { text: "a@x.org\n\n b@x.org" },
    sure: { picked: "1" },
  };
  const expected = { zone: "Berlin", many: 3, who: ["a@x.org", "b@x.org"], sure: false };
  expect(collectAnswers(all, givens)).toEqual(expected);
  expect(answerOf(when, { picked: "1" })).toBe("by hand");
  expect(answerOf(zone, { picked: "0" }, "Europe/Paris")).toBe("Europe/Paris");
  expect(answerOf(zone, givenOf(zone, "Asia/Tokyo"))).toBe("Asia/Tokyo");
});

test("each error is shown at its field", () => {
  const problem = new Problem(422, {
    detail: "Two are wrong.",
    errors: [
      { pointer: "/answers/zone", detail: "No such place.", code: "x" },
      { pointer: "/edits/0/value", detail: "Too long.", code: "x" },
    ],
  } as never);
  const { answers, findings } = distributeErrors(problem, [{ pointer: "/name", value: "" }]);
  expect(answers).toEqual({ zone: "No such place." });
  expect(findings).toMatchObject([{ pointer: "/name", detail: "Too long.", level: "error" }]);
});

test("saving is blocked while something is missing", () => {
  const free = {
    broken: null,
    parked: false,
    mustAgree: false,
    agreed: false,
    needsNote: false,
    note: "",
  };
  const ready = proposal(1, {});
  expect(describeBlocker({ proposal: ready, changed: 0, ...free })).toBeNull();
  expect(describeBlocker({ proposal: ready, changed: 1, ...free })).toMatch(
    /1 change is not/,
  );
  expect(describeBlocker({ proposal: ready, changed: 0, ...free, mustAgree: true })).toMatch(
    /new permissions/,
  );
  expect(describeBlocker({ proposal: ready, changed: 0, ...free, needsNote: true, note: "no" }))
    .toMatch(
      /why/,
    );
  const open = proposal(1, {}, { questions: [question({})] });
  expect(describeBlocker({ proposal: open, changed: 0, ...free })).toBe("Answer 1 question first.");
});

test("the next fire times of a schedule are in its own time zone", () => {
  const config = { cron: "0 9 * * 1-5", timezone: "Europe/Berlin" };
  const fires = nextFires({ triggers: [{ type: "schedule", config }, { type: "webhook" }] });
  expect(fires).toHaveLength(3);
  expect(fires[0]).toContain("Europe/Berlin");
  expect(nextFires({ triggers: [{ type: "schedule", config: { cron: "0 9 * * *" } }] })).toEqual(
    [],
  );
});
