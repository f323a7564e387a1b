// Parsing of the health and metrics responses, and their texts.

import { Problem } from "../../api/problem";
import type { Schemas } from "../../api/client";
import { formatDateTime, formatDuration } from "../../kit/format";
import { t } from "../../strings";

// A server that does not respond names no version.
export type HealthAnswer = Omit<Schemas["HealthAnswer"], "version">;
export type Tone = "ok" | "warning" | "failed";
export type Part = { name: string; tone: Tone; text: string; advice?: string };

/** A failing health check is an error response with the same shape. */
export function parseHealth(data: HealthAnswer | undefined, problem: unknown): HealthAnswer | null {
  if (problem instanceof Problem) {
    const details = problem.document as unknown as Partial<HealthAnswer> | null;
    if (Array.isArray(details?.checks)) return details as HealthAnswer;
    return { status: "down", checks: [{ name: "server", ok: false, detail: problem.message }] };
  }
  return data ?? null;
}

export type Numbers = ReadonlyMap<string, number>;

/** The Prometheus samples: `name{label="x"} 3`, keyed by name and labels. */
export function parseMetrics(text: string): Numbers {
  const found = new Map<string, number>();
  for (const line of text.split("\n")) {
    const read = /^(mainspring_[a-z_]+(?:\{[^}]*\})?) (\S+)$/.exec(line);
    if (read) found.set(read[1]!.slice("mainspring_".length), Number(read[2]));
  }
  return found;
}

export const versionIn = (numbers: Numbers): string | null => {
  for (const name of numbers.keys()) {
    const read = /^info\{version="([^"]*)"\}$/.exec(name);
    if (read) return read[1]!;
  }
  return null;
};

const LABELS: Record<string, string> = {
  server: t.health.server,
  database: t.health.database,
  schedules: t.health.schedules,
  workers: t.health.workers,
  events: t.health.events,
  storage: t.health.storage,
};

const ADVICE: Record<string, string> = {
  server: t.health.checkThatTheServerIs,
  database: t.health.checkThatPostgresIsRunning,
  schedules: t.health.startASchedulerMainspringUp,
  workers: t.health.startAWorkerMainspringUp,
  events: t.health.startASchedulerItProcesses,
  storage: t.health.freeUpSpaceTheDatabase,
};

export const partsOf = (health: HealthAnswer): Part[] =>
  health.checks.map(({ name, ok, detail }) => ({
    name: LABELS[name] ?? name,
    tone: ok ? "ok" : "failed",
    text: detail,
    advice: ok ? undefined : ADVICE[name],
  }));

// Less than 10 % free is a warning; less than 5 % is an error.
const SOON_FULL = 0.1;
const FULL = 0.05;
const GB = 1e9;

/** The queue, the disk and the database latency, as far as the metrics show them. */
export function metricParts(numbers: Numbers): Part[] {
  const parts: Part[] = [];
  const due = numbers.get("due_runs");
  const oldest = numbers.get("oldest_due_run_seconds") ?? 0;
  if (due !== undefined) {
    const late = due > 0 && oldest > 60;
    parts.push({
      name: t.health.queue,
      tone: late ? "warning" : "ok",
      text: due
        ? t.health.runDueTheOldestFor(due, formatDuration(oldest))
        : describePending(numbers.get('runs{status="pending"}') ?? 0),
      advice: late ? t.health.addWorkersMainspringUpWorkers : undefined,
    });
  }
  const took = numbers.get("database_seconds");
  if (took !== undefined) {
    parts.push({
      name: t.health.databaseLatency,
      tone: took > 1 ? "warning" : "ok",
      text: t.health.theLastQueryTook(formatDuration(took)),
      advice: took > 1 ? t.health.theMachineMayBeBusy : undefined,
    });
  }
  const disk = diskPart(numbers);
  return disk ? [...parts, disk] : parts;
}

/** Pending runs that are not due do not wait for a worker. */
const describePending = (pending: number): string =>
  pending ? t.health.workersAreAvailablePendingRun(pending) : t.health.noRunIsWaitingFor;

function diskPart(numbers: Numbers): Part | null {
  const all = numbers.get("disk_bytes");
  const free = numbers.get("disk_free_bytes");
  if (!all || free === undefined) return null;
  const share = free / all;
  return {
    name: t.health.disk,
    tone: share < FULL ? "failed" : share < SOON_FULL ? "warning" : "ok",
    text: t.health.gbOfGbFree((free / GB).toFixed(1), (all / GB).toFixed(0)),
    advice: share < SOON_FULL ? t.health.freeUpSpaceTheDatabase : undefined,
  };
}

export type SandboxState = Schemas["WallsAnswer"];

export const sandboxPart = (sandbox: SandboxState): Part => ({
  name: t.health.scriptSandbox,
  tone: sandbox.warnings.length ? "warning" : "ok",
  text: sandbox.strong ? t.health.aVulnerabilityInTheScript : t.health.theSandboxHasFewerLayers,
  advice: sandbox.warnings.join(" ") || undefined,
});

export function verdict(parts: Part[]): { tone: Tone; text: string } {
  const bad = parts.filter((one) => one.tone === "failed");
  const warned = parts.filter((one) => one.tone === "warning");
  if (bad.length) {
    return {
      tone: "failed",
      text: t.health.notWorking(bad.map((one) => one.name).join(", ")),
    };
  }
  if (warned.length) {
    return {
      tone: "warning",
      text: t.health.workingWithWarning(warned.length),
    };
  }
  return { tone: "ok", text: t.health.allSystemsAreWorking };
}

/** The report as text, for support. */
export function report(parts: Part[], version: string | null, at: Date): string {
  const lines = parts.map(({ name, tone, text, advice }) =>
    `${tone.padEnd(8)}${name}: ${text}${advice ? ` ${advice}` : ""}`
  );
  return [`Mainspring ${version ?? ""}, ${at.toISOString()}`, ...lines].join("\n");
}

type Named = {
  scope: string;
  automation?: string | null;
  recipe?: string | null;
  everywhere: boolean;
};

/** The name of what a halt covers. */
export function describeHalted(halt: Named): string {
  if (halt.scope === "workspace") return t.health.theWholeWorkspace;
  if (halt.scope === "automation") return halt.automation ?? t.health.anAutomation;
  return t.health.theRecipeInEveryWorkspace(halt.recipe, halt.everywhere);
}

/** A deliberate halt is not an error, but still needs a reminder. */
export const haltsPart = (halts: readonly Named[]): Part => ({
  name: t.health.halts,
  tone: "warning",
  text: halts.some((one) => one.scope === "workspace")
    ? t.health.theWholeWorkspaceIsHalted
    : `${t.counts.halts(halts.length)} ${
      halts.length > 1 ? t.health.areActive : t.health.isActive
    }.`,
  advice: t.health.heldRunsContinueWhenYou,
});

/** Since when it is halted and by whom; for an automation without its name. */
export function describeSince(
  halt: Named & { halted_at: string; halted_by?: string | null },
): string {
  const since = t.health.since(
    formatDateTime(halt.halted_at),
    halt.halted_by ? t.health.by(halt.halted_by) : "",
  );
  return halt.scope === "automation"
    ? t.health.halted(since)
    : t.health.halted2(describeHalted(halt), since);
}

/** How much is halted so far. */
export function describeHaltEffect(
  halt: { held: number; under_way: number; everywhere: boolean },
): string {
  return [
    halt.held ? t.health.runHeld(halt.held) : t.health.noRunIsHeldYet,
    halt.under_way ? t.health.runNotStoppedYet(halt.under_way) : "",
    t.health.newTriggersAreHeldToo,
    halt.everywhere ? t.health.anAdministratorReleasesIt : "",
  ].filter(Boolean).join(" ");
}

/**
 * The halts that apply to one automation, besides one of the whole workspace.
 *
 * Only the server knows which recipe it came with: it returns the reason of the oldest halt that
 * applies.
 */
export function haltsOfAutomation<
  Halt extends { scope: string; automation_id?: string | null; reason: string },
>(
  halts: readonly Halt[],
  automationId: string,
  reason: string | null,
): Halt[] {
  return halts.filter((one) =>
    one.automation_id === automationId || (one.scope === "recipe" && one.reason === reason)
  );
}
