// One event stream for all tabs of a browser.
//
// Over HTTP/1.1 a browser opens at most six connections per server, and a stream holds one of them.
// So the tabs share a stream: a worker opens it with every run that one of the tabs follows, and
// forwards each event. It reconnects with the id of the last event and exponential backoff, and
// closes when the last tab is gone.

export type StreamEvent = { kind: string; data: Record<string, unknown> };

/** A tab's subscription: a workspace and optionally a run in it, or null to unsubscribe. */
export type Subscription =
  | { type: "follow"; workspace: string; run: string | null }
  | { type: "leave" };

export type StreamMessage =
  | { type: "event"; event: StreamEvent }
  /** `missed`: events may have been lost. */
  | { type: "open"; missed: boolean }
  /** The server rejected the stream, or is unreachable. */
  | { type: "lost"; refused: boolean };

/** A subscriber: a message port, or a callback of the tab itself. */
export type Subscriber = { postMessage: (message: StreamMessage) => void };

type Received = StreamEvent & { id?: string };

/** The fields of a problem document that the stream reads. */
type Problem = { errors?: { pointer: string }[] };

const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 10_000;
// The server sends a heartbeat every 15 seconds. A connection that is silent for longer is dead,
// for example because the computer was suspended.
const SILENCE = 40_000;
// The server's limit of runs that one stream follows step by step.
export const MOST_WATCHED = 4;

/** The backoff before the next attempt, in milliseconds. */
export function backoff(failed: number): number {
  return Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(failed, 5));
}

/** Parses server-sent events from a text stream that arrives in chunks of any size. */
export class EventParser {
  private rest = "";

  read(text: string): Received[] {
    const blocks = (this.rest + text).split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => {
      const fields = new Map(
        block.split("\n").map((line): [string, string] => {
          const at = line.indexOf(":");
          return [line.slice(0, at), line.slice(at + 1).trimStart()];
        }),
      );
      const kind = fields.get("event");
      const data = fields.get("data");
      return kind && data ? [{ kind, data: JSON.parse(data), id: fields.get("id") }] : [];
    });
  }
}

/** The stream of one workspace, its subscribers, and the run that each of them follows. */
class SharedStream {
  private subscribers = new Map<Subscriber, string | null>();
  private connection: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private state: StreamMessage | null = null;
  private inbox: StreamEvent | null = null;
  private last: string | null = null;
  private failures = 0;
  private missed = false;
  /** The runs that the current request names, in order. */
  private namedRuns: string[] = [];
  /** Unknown runs: the server rejects a stream that names one of them. */
  private unknownRuns = new Set<string>();

  constructor(private readonly workspace: string) {}

  get isEmpty() {
    return this.subscribers.size === 0;
  }

  join(reader: Subscriber, run: string | null): void {
    const isNew = !this.subscribers.has(reader);
    const before = this.subscribers.get(reader) ?? null;
    // The most recent subscriber is last, so its run is the last to be dropped at the limit.
    this.subscribers.delete(reader);
    this.subscribers.set(reader, run);
    // A newly opened run is expected to exist: forget an earlier rejection.
    if (run && (isNew || run !== before)) this.unknownRuns.delete(run);
    if (isNew && this.state) reader.postMessage(this.state);
    if (isNew && this.inbox) reader.postMessage({ type: "event", event: this.inbox });
    // A tab receives its run from the beginning, even if another tab already follows it.
    if (run !== before || !this.connection) this.open();
  }

  unsubscribe(reader: Subscriber): void {
    const run = this.subscribers.get(reader);
    this.subscribers.delete(reader);
    if (this.isEmpty) this.close();
    else if (run && !this.runs.includes(run)) this.open();
  }

  private get runs(): string[] {
    const named = [...this.subscribers.values()].reverse().filter((run) => run !== null);
    return [...new Set(named)].filter((run) => !this.unknownRuns.has(run)).slice(0, MOST_WATCHED);
  }

  private close(): void {
    clearTimeout(this.timer);
    this.connection?.abort();
    this.connection = null;
  }

  private async open(): Promise<void> {
    this.close();
    const connection = this.connection = new AbortController();
    const isOver = () => connection.signal.aborted;
    this.watch();
    try {
      const answer = await this.subscribe(connection.signal);
      if (isOver()) return;
      if (!answer.ok || !answer.body) {
        const problem = await answer.json().catch(() => ({}));
        return isOver() ? undefined : this.handleRejection(answer.status, problem);
      }
      this.broadcastOpen();
      const parser = new EventParser();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (isOver()) return;
        if (done) break;
        this.watch();
        for (const one of parser.read(value)) this.handleEvent(one);
        if (isOver()) return;
      }
    } catch {
      if (isOver()) return;
    }
    this.handleDisconnect(false);
  }

  private subscribe(signal: AbortSignal): Promise<Response> {
    const query = new URLSearchParams({ workspace: this.workspace });
    this.namedRuns = this.runs;
    for (const run of this.namedRuns) query.append("run_id", run);
    const headers: HeadersInit = this.last ? { "Last-Event-ID": this.last } : {};
    return fetch(`/api/v1/stream?${query}`, { signal, headers, cache: "no-store" });
  }

  private watch(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.handleDisconnect(false), SILENCE);
  }

  private handleEvent({ id, ...event }: Received): void {
    // Only the workspace position of the id is kept; runs are sent again from the start.
    if (id) this.last = id.split("~")[0] || this.last;
    if (event.kind === "inbox") this.inbox = event;
    // The last event of a stream that the server has closed.
    if (event.kind === "problem") {
      return this.handleRejection(Number(event.data.status), event.data);
    }
    this.broadcast({ type: "event", event });
  }

  private handleRejection(status: number, problem: Problem): void {
    // An unknown event id, or unknown runs, each with its pointer.
    if (status === 422) this.last = null;
    for (const { pointer } of status === 404 ? problem.errors ?? [] : []) {
      const run = this.namedRuns[Number(pointer.split("/query/run_id/")[1])];
      if (run) this.unknownRuns.add(run);
    }
    // A proxy answers with this status when its backend is down.
    this.handleDisconnect(status < 500);
  }

  private handleDisconnect(refused: boolean): void {
    this.close();
    this.missed = true;
    this.broadcastState({ type: "lost", refused });
    this.timer = setTimeout(() => void this.open(), backoff(this.failures));
    this.failures += 1;
  }

  private broadcastOpen(): void {
    const { missed } = this;
    this.failures = 0;
    this.missed = false;
    this.broadcastState({ type: "open", missed });
    // A later subscriber has loaded the current state itself.
    this.state = { type: "open", missed: false };
  }

  private broadcastState(state: StreamMessage): void {
    this.state = state;
    this.broadcast(state);
  }

  private broadcast(message: StreamMessage): void {
    for (const reader of this.subscribers.keys()) reader.postMessage(message);
  }
}

/** All streams of a browser: one, or briefly two while the session changes its workspace. */
export class StreamHub {
  private streams = new Map<string, SharedStream>();
  private workspaces = new Map<Subscriber, string>();

  subscribe(reader: Subscriber, subscription: Subscription): void {
    const before = this.workspaces.get(reader);
    const now = subscription.type === "follow" ? subscription.workspace : undefined;
    if (before !== undefined && before !== now) this.unsubscribe(reader, before);
    if (subscription.type !== "follow") return;
    this.workspaces.set(reader, subscription.workspace);
    const stream = this.streams.get(subscription.workspace) ??
      new SharedStream(subscription.workspace);
    this.streams.set(subscription.workspace, stream);
    stream.join(reader, subscription.run);
  }

  private unsubscribe(reader: Subscriber, workspace: string): void {
    const stream = this.streams.get(workspace);
    stream?.unsubscribe(reader);
    if (stream?.isEmpty) this.streams.delete(workspace);
    this.workspaces.delete(reader);
  }
}
