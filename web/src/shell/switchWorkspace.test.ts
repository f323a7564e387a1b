import { expect, test } from "vitest";
import { workspaceOfLink } from "./switchWorkspace";

test("a link names another workspace than the one that is shown, or none", () => {
  const at = "https://mainspring.example/inbox?draft=1";
  expect(workspaceOfLink("here", at)).toBeNull();
  expect(workspaceOfLink("here", `${at}&workspace=here`)).toBeNull();
  expect(workspaceOfLink("here", `${at}&workspace=there`)).toBe("there");
});
