import { expect, test } from "vitest";
import { describe, type Link, tokenIn } from "./links";

const LINK: Link = {
  purpose: "first",
  email: "owner@localhost",
  name: "Owner",
  made_by: null,
  workspace: null,
  role: null,
  sign_in_first: false,
};

test("a token is read from the fragment", () => {
  expect(tokenIn("#msl_a-b_c")).toBe("msl_a-b_c");
  expect(tokenIn("")).toBe("");
  expect(tokenIn("#msl_%zz")).toBe("msl_%zz");
});

test("a link is described before it is used", () => {
  expect(describe(LINK).text).toContain("the owner of this installation");
  const link = describe({
    ...LINK,
    purpose: "invitation",
    email: "ada@example.org",
    made_by: "Grace",
    workspace: "Lab",
    role: "editor",
  });
  expect(link.title).toBe("Grace invites you to Lab");
  expect(link.text).toBe("You will be an editor there. The invitation is for ada@example.org.");
  expect(link.action).toBe("Join Lab");
  expect(describe({ ...LINK, purpose: "reset" }).text).toContain("ends all sessions");
});
