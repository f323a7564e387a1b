// One stream for all tabs, their subscriptions, and reconnects.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { backoff, EventParser, StreamHub, type StreamMessage, type Subscriber } from "./stream";

type Call = {
  url: URL;
  last: string | null;
  signal: AbortSignal;
  send: (text: string) => void;
  end: () => void;
};

let calls: Call[];
let status: number;
let away: boolean;
let missing: Set<string>;

const finish = () => vi.advanceTimersByTimeAsync(0);
const opened = () => calls.filter((one) => !one.signal.aborted);
const runsOf = (call: Call) => call.url.searchParams.getAll("run_id");
/** The server's problem document for a stream that names unknown runs. */
const noRun = (runs: string[]) => ({
  status: 404,
  code: "no_run",
  errors: runs.flatMap((run, at) =>
    missing.has(run) ? [{ pointer: `/query/run_id/${at}`, code: "no_run" }] : []
  ),
});
const event = (kind: string, data: object, id = "") =>
  `${id && `id: ${id}\n`}event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;

class Tab implements Subscriber {
  received: StreamMessage[] = [];
  postMessage = (message: StreamMessage) => void this.received.push(message);
  kinds = () => this.received.map((one) => one.type === "event" ? one.event.kind : one.type);
}

beforeEach(() => {
  vi.useFakeTimers();
  calls = [];
  status = 200;
  away = false;
  missing = new Set();
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    if (away) return Promise.reject(new TypeError("Failed to fetch"));
    let source: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (given) => void (source = given) });
    calls.push({
      url: new URL(path, "http://here.test"),
      last: new Headers(init.headers).get("Last-Event-ID"),
      signal: init.signal!,
      send: (text) => source.enqueue(new TextEncoder().encode(text)),
      end: () => source.close(),
    });
    const problem = noRun(runsOf(calls.at(-1)!));
    return Promise.resolve(
      problem.errors.length
        ? new Response(JSON.stringify(problem), { status: 404 })
        : new Response(body, { status }),
    );
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("parses events from chunks of any size, and skips comments", () => {
  const parser = new EventParser();
  const text = "retry: 1000\n\n: still here\n\n" + event("run", { id: "a: b" }, "7~x");
  const found = [...text].flatMap((one) => parser.read(one));
  expect(found).toEqual([{ kind: "run", data: { id: "a: b" }, id: "7~x" }]);
});

it("opens one stream for all tabs, and closes it with the last of them", async () => {
  const hub = new StreamHub();
  const tabs = Array.from({ length: 8 }, () => new Tab());
  for (const tab of tabs) hub.subscribe(tab, { type: "follow", workspace: "w", run: null });
  await finish();
  expect(calls.length).toBe(1);
  calls[0]!.send(event("inbox", { drafts: 2 }, "5") + event("run", { id: "r" }, "6"));
  await finish();
  for (const tab of tabs) expect(tab.kinds()).toEqual(["open", "inbox", "run"]);
  const late = new Tab();
  hub.subscribe(late, { type: "follow", workspace: "w", run: null });
  expect(late.kinds()).toEqual(["open", "inbox"]);
  for (const tab of tabs) hub.subscribe(tab, { type: "leave" });
  expect(calls[0]!.signal.aborted).toBe(false);
  hub.subscribe(late, { type: "leave" });
  expect(calls[0]!.signal.aborted).toBe(true);
  expect(calls.length).toBe(1);
});

it("names the followed runs, resumes after the last event, and drops the oldest at the limit", async () => {
  const hub = new StreamHub();
  const tabs = Array.from({ length: 6 }, () => new Tab());
  for (const [at, tab] of tabs.entries()) {
    hub.subscribe(tab, { type: "follow", workspace: "w", run: `r${at}` });
    await finish();
    calls.at(-1)!.send(event("inbox", {}, `${at}~of-a-run`));
    await finish();
  }
  const runs = () => opened().map((one) => one.url.searchParams.getAll("run_id"));
  expect(runs()).toEqual([["r5", "r4", "r3", "r2"]]);
  expect(opened()[0]!.last).toBe("4");
  // The first tab gets the run again; the others notice no interruption.
  hub.subscribe(tabs[0]!, { type: "follow", workspace: "w", run: null });
  hub.subscribe(tabs[0]!, { type: "follow", workspace: "w", run: "r0" });
  await finish();
  expect(runs()).toEqual([["r0", "r5", "r4", "r3"]]);
  hub.subscribe(tabs[0]!, { type: "leave" });
  await finish();
  expect(runs()).toEqual([["r5", "r4", "r3", "r2"]]);
  expect(tabs[5]!.kinds()).not.toContain("lost");
});

it("reconnects with backoff, and reports that events may be missed", async () => {
  const hub = new StreamHub();
  const tab = new Tab();
  hub.subscribe(tab, { type: "follow", workspace: "w", run: null });
  await finish();
  calls[0]!.send(event("inbox", {}, "9"));
  await finish();
  away = true;
  calls[0]!.end();
  await finish();
  expect(tab.received.at(-1)).toEqual({ type: "lost", refused: false });
  await vi.advanceTimersByTimeAsync(backoff(0) + backoff(1));
  away = false;
  expect(calls.length).toBe(1);
  await vi.advanceTimersByTimeAsync(backoff(2));
  expect(tab.received.at(-1)).toEqual({ type: "open", missed: true });
  expect(calls[1]!.last).toBe("9");
  expect(backoff(30)).toBe(10_000);
});

it("reconnects at once for a tab that becomes visible during the backoff", async () => {
  const hub = new StreamHub();
  const tab = new Tab();
  away = true;
  hub.subscribe(tab, { type: "follow", workspace: "w", run: null });
  await finish();
  away = false;
  hub.subscribe(tab, { type: "follow", workspace: "w", run: null });
  await finish();
  expect(tab.kinds()).toEqual(["lost", "open"]);
});

it("closes a connection that is silent for too long", async () => {
  const hub = new StreamHub();
  const tab = new Tab();
  hub.subscribe(tab, { type: "follow", workspace: "w", run: null });
  await finish();
  await vi.advanceTimersByTimeAsync(30_000);
  calls[0]!.send(": still here\n\n");
  await vi.advanceTimersByTimeAsync(30_000);
  expect(calls[0]!.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(calls[0]!.signal.aborted).toBe(true);
  expect(calls.length).toBe(2);
});

it("reports a rejection, and does not request an unknown run again", async () => {
  const hub = new StreamHub();
  const tab = new Tab();
  missing.add("gone");
  hub.subscribe(tab, { type: "follow", workspace: "w", run: "gone" });
  await finish();
  expect(tab.received).toEqual([{ type: "lost", refused: true }]);
  await vi.advanceTimersByTimeAsync(backoff(0));
  expect(calls.at(-1)!.url.searchParams.getAll("run_id")).toEqual([]);
  calls.at(-1)!.send(event("problem", { status: 401 }));
  await finish();
  expect(tab.received.at(-1)).toEqual({ type: "lost", refused: true });
});

it("keeps following the other runs when one of them does not exist", async () => {
  const hub = new StreamHub();
  const [one, other] = [new Tab(), new Tab()];
  hub.subscribe(one, { type: "follow", workspace: "w", run: "there" });
  missing.add("gone");
  hub.subscribe(other, { type: "follow", workspace: "w", run: "gone" });
  await finish();
  expect(runsOf(calls.at(-1)!)).toEqual(["gone", "there"]);
  await vi.advanceTimersByTimeAsync(backoff(0));
  expect(opened().map(runsOf)).toEqual([["there"]]);
  expect(one.received.at(-1)).toEqual({ type: "open", missed: true });
});

it("keeps following the other runs when one of them is deleted", async () => {
  const hub = new StreamHub();
  const tabs = [new Tab(), new Tab()];
  hub.subscribe(tabs[0]!, { type: "follow", workspace: "w", run: "deleted" });
  hub.subscribe(tabs[1]!, { type: "follow", workspace: "w", run: "there" });
  await finish();
  const [call] = opened();
  expect(runsOf(call!)).toEqual(["there", "deleted"]);
  // A tab that becomes visible subscribes again, which changes the order but not the open stream.
  hub.subscribe(tabs[0]!, { type: "follow", workspace: "w", run: "deleted" });
  missing.add("deleted");
  call!.send(event("problem", noRun(runsOf(call!))));
  await finish();
  await vi.advanceTimersByTimeAsync(backoff(0));
  expect(opened().map(runsOf)).toEqual([["there"]]);
});

it("requests a run again when a tab opens it again", async () => {
  const hub = new StreamHub();
  const [one, other] = [new Tab(), new Tab()];
  missing.add("late");
  hub.subscribe(one, { type: "follow", workspace: "w", run: "late" });
  await finish();
  await vi.advanceTimersByTimeAsync(backoff(0));
  expect(opened().map(runsOf)).toEqual([[]]);
  missing.clear();
  hub.subscribe(other, { type: "follow", workspace: "w", run: "late" });
  await finish();
  expect(opened().map(runsOf)).toEqual([["late"]]);
});

it("drops no run when a rejection does not name one", async () => {
  const hub = new StreamHub();
  const tab = new Tab();
  status = 404;
  hub.subscribe(tab, { type: "follow", workspace: "w", run: "there" });
  await finish();
  calls[0]!.end();
  await finish();
  expect(tab.received.at(-1)).toEqual({ type: "lost", refused: true });
  status = 200;
  await vi.advanceTimersByTimeAsync(backoff(0));
  expect(opened().map(runsOf)).toEqual([["there"]]);
});

it("has one stream per workspace", async () => {
  const hub = new StreamHub();
  const [one, other] = [new Tab(), new Tab()];
  hub.subscribe(one, { type: "follow", workspace: "old", run: null });
  hub.subscribe(other, { type: "follow", workspace: "new", run: null });
  await finish();
  expect(opened().length).toBe(2);
  hub.subscribe(one, { type: "follow", workspace: "new", run: null });
  await finish();
  expect(opened().map((call) => call.url.searchParams.get("workspace"))).toEqual(["new"]);
});
