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
const sentence = (entry: Partial<Entry>, names = NAMES) =>
  asText(sentenceOf({ ...ENTRY, ...entry }, names));

test("an entry names the actor, the action and the resource, with a link", () => {
  expect(sentence({})).toBe("Ada activated the automation Wind the clocks");
  expect(sentenceOf(ENTRY, NAMES).thing?.to).toBe(`/automations/${ID}`);
  expect(sentence({ action: "create_automation", detail: { name: "Tea", version: 1 } }))
    .toBe("Ada created the automation Tea as version 1");
  expect(sentence({ action: "patch_trigger", subject: `${ID}/daily` }))
    .toBe("Ada changed a trigger of Wind the clocks");
});

test("entries without a name or a text are still shown", () => {
  expect(sentence({}, new Map())).toBe("Ada activated the automation …50bac6");
  expect(sentence({ action: "stir_the_pot", subject: null })).toBe("Ada called stir the pot");
  expect(sentence({ actor_name: null, actor_kind: "engine", action: "sign_out", subject: ID }))
    .toBe("Mainspring signed out");
});

test("a decision names its channel", () => {
  const decided = (channel: string) =>
    sentence({ action: "draft.approved", subject: ID, detail: { channel } }, new Map());
  expect(decided("slack")).toBe("Ada approved the draft …50bac6 in Slack");
  expect(decided("terminal")).toBe("Ada approved the draft …50bac6 in a terminal");
  expect(decided("page")).toBe("Ada approved the draft …50bac6 in the web app");
});

test("a refusal names the action, and a token is named as such", () => {
  expect(
    sentence({ action: "denied", subject: "create_token", detail: { code: "role_too_small" } }),
  )
    .toBe("Ada was denied: create token (role too small)");
  expect(
    sentence(
      { actor_kind: "client", action: "create_token", detail: { role: "operator" } },
      new Map(),
    ),
  )
    .toBe("Ada created a token …50bac6 as operator, with a token");
});

test("an export has one entry a line", () => {
  const lines = asLines([ENTRY, ENTRY]).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).id)).toEqual([ID, ID]);
});
