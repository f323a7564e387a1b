import { describe, expect, it } from "vitest";
import { applyChanges, changesOf, pieces } from "./edits";
import {
  type Clock,
  createApprovalQueue,
  type DelayedApproval,
  describeRejection,
  HOLD_MS,
  type Outcome,
  secondsLeft,
} from "./delayedApprovals";
import {
  type Draft,
  type Failing,
  itemAfter,
  itemOf,
  moveSelection,
  nameOf,
  type Question,
  waitingItems,
} from "./items";
import { isAnswer, keyAction, type Pressed } from "./keys";
import { describeUnread, seenOf, unreadOf, withRead } from "./readDrafts";

const draft = (id: string, at: string, batch: string | null = null) =>
  ({
    id,
    created_at: at,
    batch_id: batch,
    preview: id,
    arguments: {},
    within: "",
    editable: [],
  }) as unknown as Draft;

describe("the list", () => {
  const items = waitingItems({
    drafts: [
      draft("d3", "2026-01-03T00:00:00Z", "b"),
      draft("d1", "2026-01-01T00:00:00Z"),
      draft("d2", "2026-01-02T00:00:00Z", "b"),
    ],
    questions: [
      { approval_id: "q", created_at: "2026-01-01T12:00:00Z" } as unknown as Question,
    ],
    consents: [],
    automations: [
      {
        id: "f",
        failures: 2,
        state: "active",
        updated_at: "2026-01-04T00:00:00Z",
        last_run: null,
      } as unknown as Failing,
      {
        id: "known",
        failures: 0,
        state: "paused",
        paused_reason: "failures",
      } as unknown as Failing,
    ],
  });

  it("has one order by age, with drafts of one turn together", () => {
    expect(items.map((one) => `${one.kind} ${one.id}`)).toEqual([
      "draft d1",
      "question q",
      "batch b",
      "failure f",
    ]);
    const batch = items[2]!;
    expect(batch.kind === "batch" && batch.drafts.map((one) => one.id)).toEqual(["d2", "d3"]);
  });

  it("finds a draft inside its batch, and clamps the selection", () => {
    expect(itemOf(items, "d3")?.id).toBe("b");
    // Only one of the batch is left: its viewers see that one.
    const last = waitingItems({
      drafts: [draft("d3", "2026-01-03T00:00:00Z", "b")],
      questions: [],
      consents: [],
      automations: [],
    });
    expect([itemOf(last, "b")?.id, itemOf(last, undefined)]).toEqual(["d3", undefined]);
    expect(moveSelection(items, "q", 1)).toBe("b");
    expect(moveSelection(items, "f", 1)).toBe("f");
    expect(moveSelection(items, undefined, 1)).toBe("d1");
    expect(itemAfter(items, "f")).toBe("b");
    expect(itemAfter(items, "d1")).toBe("q");
  });
});

function fakeClock() {
  let now = 0;
  let next = 1;
  const works = new Map<number, { at: number; work: () => void }>();
  const clock: Clock = {
    now: () => now,
    later: (work, ms) => (works.set(next, { at: now + ms, work }), next++),
    stop: (timer) => void works.delete(timer),
  };
  const pass = (ms: number) => {
    now += ms;
    for (const [timer, { at, work }] of [...works]) {
      if (at <= now) (works.delete(timer), work());
    }
  };
  return { clock, pass };
}

describe("a delayed approval", () => {
  it("sends nothing before the delay, and nothing after an undo", () => {
    const { clock, pass } = fakeClock();
    const place = createApprovalQueue(clock);
    let sent = 0;
    const send = () => (sent += 1, Promise.resolve<Outcome>({ tone: "good", text: "Sent." }));
    expect(place.hold({ id: "a", drafts: ["a"], title: "a", send })).toBe(true);
    expect(place.hold({ id: "set", drafts: ["x", "a"], title: "a", send })).toBe(false);
    pass(HOLD_MS - 1);
    expect(sent).toBe(0);
    expect(place.undo()?.id).toBe("a");
    pass(HOLD_MS);
    expect(sent).toBe(0);
    expect(place.all()).toEqual([]);
  });

  it("is sent only once the server confirms it, and cannot be undone in progress", async () => {
    const { clock, pass } = fakeClock();
    const place = createApprovalQueue(clock);
    let say: (outcome: Outcome) => void = () => {};
    const send = () => new Promise<Outcome>((resolve) => (say = resolve));
    place.hold({ id: "a", drafts: ["a"], title: "a", send });
    place.hold({
      id: "b",
      drafts: ["b"],
      title: "b",
      send: () => Promise.reject(new Error("No.")),
    });
    pass(HOLD_MS);
    expect(place.all()[0]).toMatchObject({ state: "sending", outcome: null });
    expect(place.undo("a")).toBeNull();
    say({ tone: "doubt", text: "It may have left." });
    await new Promise((resolve) => setTimeout(resolve));
    expect(place.all().map((one) => one.outcome)).toEqual([
      { tone: "doubt", text: "It may have left." },
      { tone: "bad", text: "No." },
    ]);
    place.forget("a");
    expect(place.all().map((one) => one.id)).toEqual(["b"]);
  });

  it("counts whole seconds down to zero", () => {
    expect([5000, 4001, 1, 0, -3].map((left) => secondsLeft(left, 0))).toEqual([5, 5, 1, 0, 0]);
  });
});

describe("a set", () => {
  it("is approved only in the revision that was shown", () => {
    const before = [{ id: "a", hash: "1" }, { id: "b", hash: "2" }];
    const now = [{ id: "a", hash: "1" }, { id: "b", hash: "3" }, { id: "c", hash: "4" }];
    let seen = seenOf(before);
    expect(unreadOf(seen, before)).toEqual([]);
    expect(unreadOf(seen, now).map((one) => one.id)).toEqual(["b", "c"]);
    expect(describeUnread(2)).toContain("2 of these changed while you were reading: review them");
    seen = withRead(withRead(seen, now[1]!), now[2]!);
    expect(unreadOf(seen, now)).toEqual([]);
    expect(unreadOf(seen, [{ id: "b", hash: "2" }])).toHaveLength(1);
  });
});

describe("a refusal", () => {
  const answer = (drafts: string[], outcome: Outcome, id = drafts[0]!): DelayedApproval => ({
    id,
    drafts,
    title: "",
    until: 0,
    state: "finished",
    outcome,
  });
  const no: Outcome = { tone: "bad", text: "No." };
  const at = (id: string, held: DelayedApproval[], error: Record<string, unknown> | null = null) =>
    describeRejection({ id, error }, held);

  it("is shown at its draft, from this page or from the record, until a retry", () => {
    expect(at("a", [])).toBeNull();
    expect(at("a", [answer(["a"], no)])).toBe("No.");
    expect(at("b", [answer(["a"], no)])).toBeNull();
    expect(at("a", [], { detail: "Mail is not set up here.", suggestion: "Set it." })).toBe(
      "Mail is not set up here. Set it.",
    );
    expect(at("a", [answer(["a"], no), answer(["a"], { tone: "good", text: "You agreed." })]))
      .toBeNull();
    const each = [
      { draft: "a", title: "", tone: "good" as const, text: "Sent." },
      { draft: "b", title: "", tone: "bad" as const, text: "Shut." },
    ];
    const set = answer(["a", "b"], { ...no, each }, "set");
    expect([at("a", [set]), at("b", [set])]).toEqual([null, "Shut."]);
  });

  it("is kept after its notification is dismissed", async () => {
    const { clock, pass } = fakeClock();
    const place = createApprovalQueue(clock);
    place.hold({ id: "a", drafts: ["a"], title: "a", send: () => Promise.resolve(no) });
    pass(HOLD_MS);
    await new Promise((resolve) => setTimeout(resolve));
    place.forget("a");
    expect(at("a", [...place.all()])).toBe("No.");
  });
});

describe("keys", () => {
  const at = (where: string): EventTarget =>
    ({
      closest: (asked: string) => asked.split(", ").includes(where) ? {} : null,
    }) as unknown as EventTarget;
  const press = (key: string, more: Partial<Pressed> = {}) =>
    keyAction({ key, ctrlKey: false, metaKey: false, altKey: false, target: at("main"), ...more });

  it("work on the page, and not while typing or with browser modifiers", () => {
    expect(["j", "k", "a", "e", "d", "u", "?", "x"].map((key) => press(key))).toEqual(
      ["next", "previous", "approve", "edit", "discard", "undo", "keys", null],
    );
    expect((["approve", "discard", "edit", "next", "open"] as const).filter(isAnswer)).toEqual(
      ["approve", "discard"],
    );
    expect(press("a", { target: at("textarea") })).toBeNull();
    expect(press("a", { target: at("[role='dialog']") })).toBeNull();
    expect(press("a", { ctrlKey: true })).toBeNull();
    expect(press("a", { repeat: true })).toBeNull();
    expect(press("Enter", { target: at("button") })).toBeNull();
    expect(press("a", { target: at("button") })).toBe("approve");
  });
});

describe("edits", () => {
  const before = { to: ["ada@example.com"], subject: "Friday", data: { a: 1 } };

  it("keep the type of a field, and remove an empty one", () => {
    const found = changesOf(before, {
      to: "ada@example.com, bob@example.com",
      subject: "",
      data: '{"a": 2}',
      cc: "eve@example.com",
    });
    expect(found.map((one) => one.after)).toEqual([
      ["ada@example.com", "bob@example.com"],
      null,
      { a: 2 },
      ["eve@example.com"],
    ]);
    expect(changesOf(before, { subject: "Friday" })).toEqual([]);
    expect(() => changesOf(before, { data: "{" })).toThrow();
  });

  it("are previewed as they will be sent, wherever the fields are", () => {
    const within = { ...draft("d", ""), within: "input", arguments: { input: before, id: 1 } };
    const now = applyChanges(within, [{ name: "subject", before: "Friday", after: null }]);
    expect(now.arguments).toEqual({ id: 1, input: { to: before.to, data: before.data } });
  });

  it("differ word by word", () => {
    expect(pieces("meet on Friday at ten", "meet on Monday at ten")).toEqual([
      { text: "meet on ", side: "same" },
      { text: "Friday", side: "out" },
      { text: "Monday", side: "in" },
      { text: " at ten", side: "same" },
    ]);
  });
});

it("names a draft by the automation that the server names", () => {
  const held = { ...draft("d1", "2026-01-01T00:00:00Z"), automation: "Beyond two hundred" };
  const of = { id: "d1", at: held.created_at };
  expect(nameOf({ kind: "draft", ...of, draft: held })).toBe("Beyond two hundred");
  expect(nameOf({ kind: "batch", ...of, drafts: [held] } as never)).toBe("Beyond two hundred");
});
