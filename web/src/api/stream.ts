// One event stream for all tabs of a browser.
//
// Over HTTP/1.1 a browser opens at most six connections per server, and a stream holds one of them.
// So the tabs share a stream: a worker opens it with every run that one of the tabs follows, and
// forwards each event. It reconnects with the id of the last event and exponential backoff, and
// closes when the last tab is gone.

export type Heard = { kind: string; data: Record<string, unknown> };

/** A tab's subscription: a workspace and optionally a run in it, or null to unsubscribe. */
export type Asking =
  | { type: "follow"; workspace: string; run: string | null }
  | { type: "leave" };

export type Telling =
  | { type: "heard"; heard: Heard }
  /** `missed`: events may have been lost. */
  | { type: "open"; missed: boolean }
  /** The server rejected the stream, or is unreachable. */
  | { type: "lost"; refused: boolean };

/** A subscriber: a message port, or a callback of the tab itself. */
export type Reader = { postMessage: (telling: Telling) => void };

type Received = Heard & { id?: string };

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
export function pause(failed: number): number {
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
  private readers = new Map<Reader, string | null>();
  private connection: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private state: Telling | null = null;
  private inbox: Heard | null = null;
  private last: string | null = null;
  private failures = 0;
  private missed = false;
  /** The runs that the current request names, in order. */
  private named: string[] = [];
  /** Unknown runs: the server rejects a stream that names one of them. */
  private gone = new Set<string>();

  constructor(private readonly workspace: string) {}

  get isEmpty() {
    return this.readers.size === 0;
  }

  join(reader: Reader, run: string | null): void {
    const isNew = !this.readers.has(reader);
    const before = this.readers.get(reader) ?? null;
    // The most recent subscriber is last, so its run is the last to be dropped at the limit.
    this.readers.delete(reader);
    this.readers.set(reader, run);
    // A newly opened run is expected to exist: forget an earlier rejection.
    if (run && (isNew || run !== before)) this.gone.delete(run);
    if (isNew && this.state) reader.postMessage(this.state);
    if (isNew && this.inbox) reader.postMessage({ type: "heard", heard: this.inbox });
    // A tab receives its run from the beginning, even if another tab already follows it.
    if (run !== before || !this.connection) this.open();
  }

  leave(reader: Reader): void {
    const run = this.readers.get(reader);
    this.readers.delete(reader);
    if (this.isEmpty) this.close();
    else if (run && !this.runs.includes(run)) this.open();
  }

  private get runs(): string[] {
    const named = [...this.readers.values()].reverse().filter((run) => run !== null);
    return [...new Set(named)].filter((run) => !this.gone.has(run)).slice(0, MOST_WATCHED);
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
      const answer = await this.ask(connection.signal);
      if (isOver()) return;
      if (!answer.ok || !answer.body) {
        const problem = await answer.json().catch(() => ({}));
        return isOver() ? undefined : this.refuse(answer.status, problem);
      }
      this.tellOpen();
      const parser = new EventParser();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (isOver()) return;
        if (done) break;
        this.watch();
        for (const one of parser.read(value)) this.hear(one);
        if (isOver()) return;
      }
    } catch {
      if (isOver()) return;
    }
    this.lose(false);
  }

  private ask(signal: AbortSignal): Promise<Response> {
    const query = new URLSearchParams({ workspace: this.workspace });
    this.named = this.runs;
    for (const run of this.named) query.append("run_id", run);
    const headers: HeadersInit = this.last ? { "Last-Event-ID": this.last } : {};
    return fetch(`/api/v1/stream?${query}`, { signal, headers, cache: "no-store" });
  }

  private watch(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.lose(false), SILENCE);
  }

  private hear({ id, ...heard }: Received): void {
    // Only the workspace position of the id is kept; runs are sent again from the start.
    if (id) this.last = id.split("~")[0] || this.last;
    if (heard.kind === "inbox") this.inbox = heard;
    // The last event of a stream that the server has closed.
    if (heard.kind === "problem") return this.refuse(Number(heard.data.status), heard.data);
    this.tell({ type: "heard", heard });
  }

  private refuse(status: number, problem: Problem): void {
    // An unknown event id, or unknown runs, each with its pointer.
    if (status === 422) this.last = null;
    for (const { pointer } of status === 404 ? problem.errors ?? [] : []) {
      const run = this.named[Number(pointer.split("/query/run_id/")[1])];
      if (run) this.gone.add(run);
    }
    // A proxy answers with this status when its backend is down.
    this.lose(status < 500);
  }

  private lose(refused: boolean): void {
    this.close();
    this.missed = true;
    this.tellState({ type: "lost", refused });
    this.timer = setTimeout(() => void this.open(), pause(this.failures));
    this.failures += 1;
  }

  private tellOpen(): void {
    const { missed } = this;
    this.failures = 0;
    this.missed = false;
    this.tellState({ type: "open", missed });
    // A later subscriber has loaded the current state itself.
    this.state = { type: "open", missed: false };
  }

  private tellState(state: Telling): void {
    this.state = state;
    this.tell(state);
  }

  private tell(telling: Telling): void {
    for (const reader of this.readers.keys()) reader.postMessage(telling);
  }
}

/** All streams of a browser: one, or briefly two while the session changes its workspace. */
export class StreamHub {
  private streams = new Map<string, SharedStream>();
  private workspaces = new Map<Reader, string>();

  ask(reader: Reader, asking: Asking): void {
    const before = this.workspaces.get(reader);
    const now = asking.type === "follow" ? asking.workspace : undefined;
    if (before !== undefined && before !== now) this.leave(reader, before);
    if (asking.type !== "follow") return;
    this.workspaces.set(reader, asking.workspace);
    const stream = this.streams.get(asking.workspace) ?? new SharedStream(asking.workspace);
    this.streams.set(asking.workspace, stream);
    stream.join(reader, asking.run);
  }

  private leave(reader: Reader, workspace: string): void {
    const stream = this.streams.get(workspace);
    stream?.leave(reader);
    if (stream?.isEmpty) this.streams.delete(workspace);
    this.workspaces.delete(reader);
  }
}
