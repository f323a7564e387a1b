import { expect, test } from "vitest";
import { asLines, asText, type Entry, sentenceOf } from "./sentences";

const ID = "01a1e44d-12dd-7000-8589-2396e550bac6";
const ENTRY: Entry = {
  id: ID,
  at: "2026-03-01T10:00:00Z",
  actor_kind: "member",
  actor_id: ID,
  actor_name: "Ada",
  token_id: null,
  action: "activate_automation",
  subject: ID,
  detail: {},
};
const NAMES = new Map([[ID, "Wind the clocks"]]);
const said = (entry: Partial<Entry>, names = NAMES) =>
  asText(sentenceOf({ ...ENTRY, ...entry }, names));

test("an entry says who did what to what, and leads there", () => {
  expect(said({})).toBe("Ada set going the automation Wind the clocks");
  expect(sentenceOf(ENTRY, NAMES).thing?.to).toBe(`/automations/${ID}`);
  expect(said({ action: "create_automation", detail: { name: "Tea", version: 1 } }))
    .toBe("Ada made the automation Tea as version 1");
  expect(said({ action: "patch_trigger", subject: `${ID}/daily` }))
    .toBe("Ada changed a trigger of Wind the clocks");
});

test("what has no name any more, and what has no words, is still said", () => {
  expect(said({}, new Map())).toBe("Ada set going the automation …50bac6");
  expect(said({ action: "stir_the_pot", subject: null })).toBe("Ada called stir the pot");
  expect(said({ actor_name: null, actor_kind: "engine", action: "sign_out", subject: ID }))
    .toBe("Mainspring signed out");
});

test("a decision says what it came through", () => {
  const decided = (channel: string) =>
    said({ action: "draft.approved", subject: ID, detail: { channel } }, new Map());
  expect(decided("slack")).toBe("Ada approved the draft …50bac6 in Slack");
  expect(decided("terminal")).toBe("Ada approved the draft …50bac6 at a terminal");
  expect(decided("page")).toBe("Ada approved the draft …50bac6 on the page");
});

test("a refusal says what was refused, and a token that it was one", () => {
  expect(said({ action: "denied", subject: "create_token", detail: { code: "role_too_small" } }))
    .toBe("Ada was refused: would have made a token (role too small)");
  expect(
    said(
      { actor_kind: "client", action: "create_token", detail: { role: "operator" } },
      new Map(),
    ),
  )
    .toBe("Ada made a token …50bac6 as operator, by a token");
});

test("an export has one entry a line", () => {
  const lines = asLines([ENTRY, ENTRY]).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).id)).toEqual([ID, ID]);
});
