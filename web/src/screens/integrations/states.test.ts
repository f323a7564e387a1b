import { expect, test } from "vitest";
import { abilities, groupByState, type Integration } from "./states";

const one = (name: string, more: Partial<Integration>): Integration => ({
  name,
  label: name,
  oauth_provider: null,
  supports: { fetch: false, act: false, adapter: false },
  polls: false,
  connected: false,
  description: "",
  state: "not_connected",
  account: null,
  tier: "gold",
  auth: "token",
  how: "",
  fields: [],
  connect_url: `/integrations/${name}`,
  connection: null,
  adapters: [],
  prompts_over: null,
  ...more,
});

test("those that need attention come first, and empty groups are omitted", () => {
  const all = [
    one("mail", {}),
    one("chat", { state: "ready" }),
    one("files", { state: "reconnect" }),
  ];
  expect(
    groupByState(all, "").map((
      catalog,
    ) => [catalog.label, catalog.entries.map((each) => each.name)]),
  )
    .toEqual([
      ["Reconnect", ["files"]],
      ["Connected", ["chat"]],
      ["Available", ["mail"]],
    ]);
  expect(groupByState(all, " CHA").map((catalog) => catalog.label)).toEqual(["Connected"]);
  expect(groupByState(all, "nothing")).toEqual([]);
});

test("the abilities of an integration are described", () => {
  expect(
    abilities(one("a", { polls: true, supports: { fetch: false, act: true, adapter: true } })),
  )
    .toBe("reads, writes, fills boards");
  expect(abilities(one("b", {}))).toBe("sign-in only");
});
