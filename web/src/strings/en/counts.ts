import { count } from "./plural";
import { translated } from "../translated";

export const counts = /* @__PURE__ */ translated("counts", {
  halts: (n: number) => count(n, "halt", "halts"),
  tools: (n: number) => count(n, "tool", "tools"),
  runs: (n: number) => count(n, "run", "runs"),
  problems: (n: number) => count(n, "problem", "problems"),
  warnings: (n: number) => count(n, "warning", "warnings"),
  calls: (n: number) => count(n, "call", "calls"),
  missedRuns: (n: number) => count(n, "missed run", "missed runs"),
  moments: (n: number) => count(n, "time", "times"),
  differences: (n: number) => count(n, "difference", "differences"),
  tries: (n: number) => count(n, "attempt", "attempts"),
  asks: (n: number) => count(n, "request", "requests"),
  drafts: (n: number) => count(n, "draft", "drafts"),
  additions: (n: number) => count(n, "addition", "additions"),
  rows: (n: number) => count(n, "row", "rows"),
  automationsWait: (n: number) => count(n, "automation needs", "automations need"),
  days: (n: number) => count(n, "day", "days"),
  automations: (n: number) => count(n, "automation", "automations"),
  webhookTokens: (n: number) => count(n, "webhook token", "webhook tokens"),
});
