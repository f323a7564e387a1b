// One stream of events for all tabs of a browser.
//
// Over HTTP/1.1 a browser keeps at most six connections to a server open, and a stream holds one of
// them. So the tabs share a stream: a worker opens it, names every run that one of the tabs follows,
// and passes each event on. It comes back after a break with the id of the last event, each time a
// little later until it works, and ends when no tab is left.

export type Heard = { kind: string; data: Record<string, unknown> };

/** What a tab asks for: to follow a workspace and perhaps a run in it, or nothing any longer. */
export type Asking =
  | { type: "follow"; workspace: string; run: string | null }
  | { type: "leave" };

export type Telling =
  | { type: "heard"; heard: Heard }
  /** Something may have happened that nobody was told of: `missed`. */
  | { type: "open"; missed: boolean }
  /** The server answered and refused the stream, or it does not answer. */
  | { type: "lost"; refused: boolean };

/** A tab, as the stream sees it: a message port, or the tab's own function. */
export type Reader = { postMessage: (telling: Telling) => void };

type Received = Heard & { id?: string };

/** The parts of a problem document that matter to the stream. */
type Problem = { errors?: { pointer: string }[] };

const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 10_000;
// The server says every 15 seconds that it is still there. A connection that is silent for longer
// is gone without a word, for example because the computer has slept.
const SILENCE = 40_000;
// As many runs as the server tells of closely over one stream.
export const MOST_WATCHED = 4;

/** How long to wait before the stream is opened once more, in milliseconds. */
export function pause(failed: number): number {
  return Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(failed, 5));
}

/** Reads the events out of a stream of text that arrives in pieces of any size. */
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

/** The stream of one workspace, and the tabs that read it with the run that each of them follows. */
class SharedStream {
  private readers = new Map<Reader, string | null>();
  private connection: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private state: Telling | null = null;
  private inbox: Heard | null = null;
  private last: string | null = null;
  private failures = 0;
  private missed = false;
  /** The runs that the current request names, in its order. */
  private named: string[] = [];
  /** Runs that do not exist: the server refuses a stream that names one of them. */
  private gone = new Set<string>();

  constructor(private readonly workspace: string) {}

  get isEmpty() {
    return this.readers.size === 0;
  }

  join(reader: Reader, run: string | null): void {
    const isNew = !this.readers.has(reader);
    const before = this.readers.get(reader) ?? null;
    // The tab that asked last is the last of them, and its run the last to be left out.
    this.readers.delete(reader);
    this.readers.set(reader, run);
    // A tab that opens a run has reason to expect that it exists.
    if (run && (isNew || run !== before)) this.gone.delete(run);
    if (isNew && this.state) reader.postMessage(this.state);
    if (isNew && this.inbox) reader.postMessage({ type: "heard", heard: this.inbox });
    // A tab receives its run from the beginning, also of one that another tab follows already.
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
    // The part of an id that is the position in the workspace; runs are sent again from the start.
    if (id) this.last = id.split("~")[0] || this.last;
    if (heard.kind === "inbox") this.inbox = heard;
    // The last word of a stream that the server has ended.
    if (heard.kind === "problem") return this.refuse(Number(heard.data.status), heard.data);
    this.tell({ type: "heard", heard });
  }

  private refuse(status: number, problem: Problem): void {
    // An id that the server does not know, or runs that do not exist, each with its place.
    if (status === 422) this.last = null;
    for (const { pointer } of status === 404 ? problem.errors ?? [] : []) {
      const run = this.named[Number(pointer.split("/query/run_id/")[1])];
      if (run) this.gone.add(run);
    }
    // A proxy answers so for a server that is not there.
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
    // A tab that comes later has read everything itself.
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

/** All streams of a browser: one, and for a moment two while its session changes the workspace. */
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
