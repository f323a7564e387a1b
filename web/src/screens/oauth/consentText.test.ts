import { expect, test } from "vitest";
import {
  additions,
  type Choice,
  describeDestination,
  mayGoTo,
  type Tool,
  toolsFor,
} from "./consentText";

const choices: Choice[] = [
  { role: "viewer", scope: "read", allows: ["See."] },
  { role: "operator", scope: "read operate", allows: ["See.", "Start."] },
];
const tool = (id: string, role: Tool["role"]): Tool => ({
  id,
  label: id,
  effect: "read",
  confirmation: false,
  role,
});

test("a choice lists what it adds, and nothing twice", () => {
  expect(additions(choices, 0)).toEqual(["See."]);
  expect(additions(choices, 1)).toEqual(["Start."]);
});

test("a smaller choice offers fewer tools", () => {
  const tools = [tool("a", "viewer"), tool("b", "editor"), tool("c", "operator")];
  expect(toolsFor(tools, "operator").map((one) => one.id)).toEqual(["a", "c"]);
  expect(toolsFor(tools, "viewer").map((one) => one.id)).toEqual(["a"]);
});

test("the destination of the answer is shown, whatever its kind", () => {
  expect(describeDestination({ kind: "web", name: "claude.ai" }).name).toBe("claude.ai");
  expect(describeDestination({ kind: "app", name: "cursor" }).name).toBe("cursor:");
  expect(describeDestination({ kind: "loopback", name: "127.0.0.1" }).name).toContain(
    "this computer",
  );
});

test("no executable URL is opened", () => {
  for (const good of ["https://a.example/?code=1", "http://127.0.0.1:1/", "cursor://x/y"]) {
    expect(mayGoTo(good)).toBe(true);
  }
  for (const bad of ["javascript:alert(1)", " JavaScript://x", "data:text/html,x"]) {
    expect(mayGoTo(bad)).toBe(false);
  }
});
