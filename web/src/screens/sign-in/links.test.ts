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

test("a token is what stands behind the #", () => {
  expect(tokenIn("#msl_a-b_c")).toBe("msl_a-b_c");
  expect(tokenIn("")).toBe("");
  expect(tokenIn("#msl_%zz")).toBe("msl_%zz");
});

test("a link says whose it is and what it does before it is used", () => {
  expect(describe(LINK).words).toContain("the owner of this installation");
  const asked = describe({
    ...LINK,
    purpose: "invitation",
    email: "ada@example.org",
    made_by: "Grace",
    workspace: "Lab",
    role: "editor",
  });
  expect(asked.title).toBe("Grace invites you to Lab");
  expect(asked.words).toBe("You will be an editor there. The invitation is for ada@example.org.");
  expect(asked.action).toBe("Join Lab");
  expect(describe({ ...LINK, purpose: "reset" }).words).toContain("ends all sessions");
});
