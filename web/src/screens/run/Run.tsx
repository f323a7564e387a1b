// One run: its live timeline, and the details of the selected step.

import { Button } from "@mantine/core";
import { Link, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { SearchX } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { api } from "../../api/client";
import { Problem } from "../../api/problem";
import { useUrlState } from "../../kit/urlState";
import { QueryResult } from "../../kit/QueryResult";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { isOver, runStatus } from "../../kit/format";
import { type Followed, useLiveRun, useNow } from "./liveRun";
import { readLine } from "./keys";
import { planOf } from "./plan";
import { queueTime, type Row, rowsOf, runDuration, scaleOf } from "./timeline";
import "./run.css";
import { RunHead } from "./RunHead";
import type { StepOutput } from "./stepOutput";
import { StepPane } from "./StepPane";
import { Waterfall } from "./Waterfall";
import { RunPane } from "./RunPane";
import { t } from "../../strings";

// Longer lists are collapsed until opened.
const OPEN_UP_TO = 12;

export default function Run() {
  const { runId } = useParams({ strict: false }) as { runId: string };
  return <Following key={runId} runId={runId} />;
}

function Following({ runId }: { runId: string }) {
  const { asked, run, said } = useLiveRun(runId);
  const refusal: unknown = asked.error;
  if (!run && refusal instanceof Problem && (refusal.status === 404 || refusal.status === 422)) {
    return <Gone />;
  }
  if (!run) {
    return (
      <>
        <PageHead title={t.run.run} back={{ to: "/runs", label: t.run.runs }} />
        <QueryResult of={asked} lines={6}>{() => null}</QueryResult>
      </>
    );
  }
  return <Shown run={run} output={said} />;
}

function Gone() {
  return (
    <>
      <PageHead title={t.run.run} back={{ to: "/runs", label: t.run.runs }} />
      <Empty
        icon={SearchX}
        title={t.run.runNotFound}
        actions={<Button component={Link} to="/runs">{t.run.showAllRuns}</Button>}
      >
        {t.run.itIsInAnotherWorkspace}
      </Empty>
    </>
  );
}

/** Which groups are expanded: short ones by default, others on request. */
function useFolds(run: Followed) {
  const [turned, setTurned] = useState<Readonly<Record<string, boolean>>>({});
  const short = run.steps.filter((one) => one.item).length <= OPEN_UP_TO;
  const isOpen = useCallback((key: string) => turned[key] ?? short, [turned, short]);
  const fold = useCallback(
    (key: string) => setTurned((now) => ({ ...now, [key]: !(now[key] ?? short) })),
    [short],
  );
  return { isOpen, fold };
}

/** The selected step: from the URL, or the most relevant one. */
function useChoice(run: Followed, rows: Row[]) {
  const [address, change] = useUrlState();
  const navigate = useNavigate();
  const hash = useRouterState({ select: (state) => state.location.hash });
  const line = readLine(hash);
  const named = address.step ?? line?.key;
  const busy = rows.find((row) => ["under_way", "waiting", "retrying"].includes(row.status));
  const usual = isOver(run.status) ? run.story.step ?? null : busy?.key ?? null;
  const key = named ?? (address.view === "run" ? null : usual);
  const choose = useCallback((to: string | null) => {
    const search = to === null ? { view: "run" } : { step: to };
    void navigate({
      to: ".",
      replace: true,
      search: search as never,
      hash: "",
      resetScroll: false,
    });
  }, [navigate]);
  const chooseLine = (step: string, number: number) =>
    void navigate({
      to: ".",
      replace: true,
      search: { step } as never,
      hash: `${step}/${number}`,
      resetScroll: false,
      hashScrollIntoView: false,
    });
  return {
    key,
    choose,
    chooseLine,
    line: line && line.key === key ? line.line : null,
    attempt: Number(address.attempt) || null,
    setAttempt: (attempt: number) => change({ step: key ?? undefined, attempt: String(attempt) }),
  };
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** j and k select a step, Enter opens its details, Escape returns to the whole run. */
function useKeys(rows: Row[], key: string | null, choose: (key: string | null) => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("[role=dialog], [role=menu]")) return;
      const keys = [null, ...rows.filter((row) => !row.isItem).map((row) => row.key)];
      const at = keys.indexOf(key);
      if (event.key === "j") choose(keys[Math.min(keys.length - 1, at + 1)] ?? null);
      else if (event.key === "k") choose(keys[Math.max(0, at - 1)] ?? null);
      else if (event.key === "Escape") choose(null);
      else if (event.key === "Enter" && event.target === document.body) {
        document.getElementById("run-pane")?.focus();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [rows, key, choose]);
}

function useRows(run: Followed, now: number, isOpen: (key: string) => boolean) {
  const path = { automation_id: run.automation_id, version: run.version };
  const query = api.useQuery("get", "/api/v1/automations/{automation_id}/versions/{version}", {
    params: { path },
  }, {
    staleTime: Infinity,
  });
  const plan = useMemo(() => planOf(query.data?.definition), [query.data]);
  return useMemo(() => {
    const rows = rowsOf(run, plan, now, isOpen);
    const scale = scaleOf(run, now);
    const queue = queueTime(run, now);
    const begun = run.started_at ? new Date(run.started_at).getTime() : scale.to;
    const segments = [
      ...(queue ? [queue] : []),
      ...(run.started_at
        ? [{
          kind: isOver(run.status)
            ? "work" as const
            : run.status === "waiting"
            ? "wait" as const
            : "under_way" as const,
          from: begun,
          to: scale.to,
        }]
        : []),
    ];
    const whole: Row = {
      key: "@run",
      step: "",
      name: t.run.theWholeRun,
      item: "",
      action: "",
      depth: 0,
      status: runStatus(run),
      segments,
      // As in the header: the queue time is a separate segment.
      seconds: runDuration(run, now) ?? undefined,
      tries: [],
      inside: 0,
    };
    return { rows, scale, whole, plan };
  }, [run, plan, now, isOpen]);
}

function Shown({ run, output: said }: { run: Followed; output: StepOutput }) {
  const now = useNow(!isOver(run.status));
  const { isOpen, fold } = useFolds(run);
  const { rows, scale, whole, plan } = useRows(run, now, isOpen);
  const { key, choose, chooseLine, line, attempt, setAttempt } = useChoice(run, rows);
  const row = useMemo(
    () =>
      key === null ? undefined : rows.find((one) => one.key === key) ??
        rowsOf(run, plan, now, () => true).find((one) => one.key === key),
    [key, rows],
  );
  useKeys(rows, row ? key : null, choose);
  return (
    <>
      <RunHead run={run} now={now} chosen={row ? key : null} choose={choose} />
      <div className="run-panes">
        <Waterfall
          rows={rows}
          whole={whole}
          scale={scale}
          chosen={row ? key : null}
          choose={choose}
          isOpen={isOpen}
          fold={fold}
        />
        {row
          ? (
            <StepPane
              key={row.key}
              run={run}
              row={row}
              output={said}
              attempt={attempt}
              setAttempt={setAttempt}
              line={line}
              chooseLine={(number) => chooseLine(row.key, number)}
            />
          )
          : <RunPane run={run} />}
      </div>
    </>
  );
}
