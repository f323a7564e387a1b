import { expect, test } from "vitest";
import { Problem } from "../../api/problem";
import {
  describeHalted,
  describeHaltEffect,
  describeSince,
  haltsOfAutomation,
  haltsPart,
  metricParts,
  parseHealth,
  parseMetrics,
  partsOf,
  report,
  verdict,
  versionIn,
} from "./healthText";

const METRICS = `# HELP mainspring_due_runs Runs
mainspring_runs{status="failed"} 2
mainspring_due_runs 3
mainspring_oldest_due_run_seconds 90
mainspring_disk_bytes 100000000000
mainspring_disk_free_bytes 4000000000
mainspring_info{version="1.2.3"} 1
`;

test("metrics become parts, with advice where needed", () => {
  const numbers = parseMetrics(METRICS);
  expect(numbers.get('runs{status="failed"}')).toBe(2);
  expect(versionIn(numbers)).toBe("1.2.3");
  const [queue, disk] = metricParts(numbers);
  expect(queue).toMatchObject({
    tone: "warning",
    text: "3 runs due, the oldest for 1 min 30 s.",
  });
  expect(disk).toMatchObject({ tone: "failed", text: "4.0 GB of 100 GB free." });
  expect(verdict([queue!, disk!]).text).toBe("Not working: Disk");
  expect(report([queue!], "1.2.3", new Date(0))).toContain("warning Queue: 3 runs due");
});

test("pending runs that are not due are mentioned", () => {
  const describe = (pending: number) =>
    metricParts(
      parseMetrics(`mainspring_due_runs 0\nmainspring_runs{status="pending"} ${pending}\n`),
    )[0]
      ?.text;
  expect(describe(0)).toBe("No run is waiting for a worker.");
  expect(describe(3)).toBe(
    "Workers are available. 3 pending runs of this workspace wait for an earlier run of the same " +
      "automation or for the end of a halt.",
  );
});

test("a failing health response is parsed, and no response is a failure", () => {
  const red = { status: "degraded", checks: [{ name: "workers", ok: false, detail: "None." }] };
  const parts = partsOf(parseHealth(undefined, new Problem(503, red as never))!);
  expect(parts[0]).toMatchObject({ name: "Workers", tone: "failed", text: "None." });
  expect(parts[0]!.advice).toContain("mainspring worker");
  expect(parseHealth(undefined, new Problem(0, null))!.status).toBe("down");
  expect(parseHealth(undefined, null)).toBeNull();
});

test("a halt is named by what it covers", () => {
  expect(describeHalted({ scope: "workspace", everywhere: false })).toBe("The whole workspace");
  expect(describeHalted({ scope: "automation", automation: "Digest", everywhere: false }))
    .toBe("Digest");
  expect(describeHalted({ scope: "recipe", recipe: "digest", everywhere: true }))
    .toBe("The recipe digest, in every workspace");
});

test("a banner shows since when, by whom, and what is halted", () => {
  const halt = {
    scope: "automation",
    automation_id: "a1",
    everywhere: false,
    halted_at: "2026-11-16T12:00:00Z",
    halted_by: "ada@example.com",
    reason: "It writes to the wrong list.",
  };
  expect(describeSince(halt)).toMatch(/^Halted since .*2026.* by ada@example\.com$/);
  expect(describeSince({ ...halt, scope: "workspace", halted_by: null }))
    .toMatch(/^The whole workspace: halted since [^b]*$/);
  const held = { held: 2, under_way: 1, everywhere: true };
  expect(describeHaltEffect(held)).toMatch(
    /^2 runs held\. 1 run not stopped yet\. .*An administrator/,
  );
  expect(describeHaltEffect({ held: 0, under_way: 0, everywhere: false })).toMatch(
    /^No run is held yet\./,
  );

  const whole = { scope: "workspace", reason: "Night.", everywhere: false };
  expect(haltsPart([halt]).text).toBe("1 halt is active.");
  expect(haltsPart([halt, whole]).text).toBe("The whole workspace is halted.");
  expect(verdict([haltsPart([halt, whole])]).tone).toBe("warning");
  const recipe = { scope: "recipe", reason: "Its mails are wrong." };
  const others = { scope: "automation", automation_id: "a2", reason: "Another." };
  const all = [halt, whole, recipe, others];
  expect(haltsOfAutomation(all, "a1", halt.reason)).toEqual([halt]);
  expect(haltsOfAutomation(all, "a3", recipe.reason)).toEqual([recipe]);
  expect(haltsOfAutomation(all, "a3", whole.reason)).toEqual([]);
});
