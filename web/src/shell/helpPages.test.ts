import { expect, test } from "vitest";
import { helpPage } from "./helpPages";

test("a screen below another has the page of the nearest one", () => {
  expect(helpPage("/runs/0190")).toBe("/docs/concepts/runs/");
  expect(helpPage("/settings/tokens")).toBe("/docs/security/members-roles-and-tokens/");
});

test("an unknown screen has the page of the web interface", () => {
  expect(helpPage("/")).toBe("/docs/get-started/web-interface/");
  expect(helpPage("/runsheet")).toBe("/docs/get-started/web-interface/");
});
