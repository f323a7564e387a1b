// Rows of a long table, fetched in windows around the visible range. Requests for windows that are
// no longer visible are cancelled, and the oldest windows are evicted: a table of a hundred
// thousand rows needs no more memory than a few screens of it.

import type { Row } from "./rows";

export type Page = { rows: Row[]; total: number; more?: boolean };
export type Load = (offset: number, limit: number, signal: AbortSignal) => Promise<Page>;

type Pending = { stop: AbortController; timer?: ReturnType<typeof setTimeout> };

export class RowWindows {
  total: number | null = null;
  /** There are more rows than the total; they were not counted. */
  more = false;
  problem: unknown = null;
  /** A change counter for subscribers. */
  version = 0;
  private windows = new Map<number, Row[]>();
  private pending = new Map<number, Pending>();
  private subscribers = new Set<() => void>();
  private generation = 0;

  constructor(
    private readonly load: Load,
    readonly size = 200,
    private readonly most = 30,
    /** The debounce: a quick scroll skips most windows. */
    private readonly patience = 40,
  ) {}

  subscribe = (watcher: () => void) => {
    this.subscribers.add(watcher);
    return () => {
      this.subscribers.delete(watcher);
    };
  };

  row(index: number): Row | undefined {
    return this.windows.get(Math.floor(index / this.size))?.[index % this.size];
  }

  get held(): number {
    return this.windows.size;
  }

  /** The first loaded rows: used to infer columns. */
  first(): Row[] {
    return this.windows.get(0) ?? this.windows.values().next().value ?? [];
  }

  /** Sets the visible range: fetches missing windows and cancels the others. */
  setVisibleRange(first: number, last: number): void {
    const end = this.total === null ? last : Math.min(last, this.total - 1);
    const from = Math.max(0, Math.floor(first / this.size));
    const to = Math.max(from, Math.floor(Math.max(0, end) / this.size));
    for (const [at, { stop, timer }] of this.pending) {
      if (at < from || at > to) {
        clearTimeout(timer);
        stop.abort();
        this.pending.delete(at);
      }
    }
    for (let at = from; at <= to; at++) {
      const held = this.windows.get(at);
      if (held) {
        this.windows.delete(at);
        this.windows.set(at, held);
      } else if (!this.pending.has(at)) this.fetchWindow(at);
    }
  }

  private fetchWindow(at: number): void {
    const pending: Pending = { stop: new AbortController() };
    this.pending.set(at, pending);
    const begin = () => void this.fetch(at, pending, this.generation);
    if (this.total === null || !this.patience) begin();
    else pending.timer = setTimeout(begin, this.patience);
  }

  private async fetch(at: number, pending: Pending, era: number): Promise<void> {
    try {
      const page = await this.load(at * this.size, this.size, pending.stop.signal);
      if (pending.stop.signal.aborted || era !== this.generation) return;
      this.windows.set(at, page.rows);
      this.count(page);
      this.problem = null;
      for (const old of this.windows.keys()) {
        if (this.windows.size <= this.most) break;
        this.windows.delete(old);
      }
    } catch (problem) {
      if (pending.stop.signal.aborted || era !== this.generation) return;
      this.problem = problem;
    } finally {
      if (this.pending.get(at) === pending) this.pending.delete(at);
    }
    this.notify();
  }

  /** An earlier page may report a smaller total: keep what a later one reported. */
  private count({ total, more = false }: Page): void {
    if (more && this.total !== null && this.total >= total) return;
    this.total = total;
    this.more = more;
  }

  /** Updates a loaded row; the server has already accepted the value. */
  patch(rowId: string, change: Record<string, unknown>): void {
    for (const [at, rows] of this.windows) {
      const place = rows.findIndex((row) => row.row_id === rowId);
      if (place >= 0) {
        const next = [...rows];
        next[place] = { ...rows[place]!, ...change };
        this.windows.set(at, next);
        this.notify();
        return;
      }
    }
  }

  /**
   * Reloads everything after rows were added or removed. The old rows are shown until they are
   * replaced.
   */
  async reload(first: number, last: number): Promise<void> {
    this.stop();
    this.generation += 1;
    const stop = new AbortController();
    const era = this.generation;
    const from = Math.floor(Math.max(0, first) / this.size);
    try {
      const page = await this.load(from * this.size, this.size, stop.signal);
      if (era !== this.generation) return;
      this.windows = new Map([[from, page.rows]]);
      this.total = null;
      this.count(page);
      this.problem = null;
    } catch (problem) {
      if (era !== this.generation) return;
      this.problem = problem;
    }
    this.notify();
    this.setVisibleRange(first, last);
  }

  stop(): void {
    for (const { stop, timer } of this.pending.values()) {
      clearTimeout(timer);
      stop.abort();
    }
    this.pending.clear();
  }

  private notify(): void {
    this.version += 1;
    for (const watcher of this.subscribers) watcher();
  }
}
