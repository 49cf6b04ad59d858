import { linesOf, PackedLog, type PackedLines } from './packed-log.ts';

/** One public request, as the control surface shows it. */
export interface LoggedRequest {
  readonly seq: number;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** 0 when nothing was answered. */
  readonly status: number;
  readonly durationMs: number;
  readonly committed: boolean;
  readonly fault?: string;
  /** The fields and parameters that were sent although the interface does not name them. */
  readonly unknownFields?: readonly string[];
}

/** The number of requests to a route, and of those that committed something. */
interface Count {
  readonly method: string;
  readonly path: string;
  readonly requests: number;
  readonly commits: number;
}

/** The request log as it is kept on disk. */
export interface KeptRequests {
  readonly lastSeq: number;
  readonly counts: readonly Count[];
  readonly lines: PackedLines;
}

const mostPaths = 1000;

/** The public requests: their numbers, the log of them, and counts that outlive the log. */
export class RequestLog {
  readonly log = new PackedLog<LoggedRequest>();
  readonly #counts = new Map<string, Count>();
  #seq = 0;
  /** Called with every request, so that it can be kept on disk. */
  onKept: (request: LoggedRequest) => void = () => undefined;
  /** Called with every request once it is in the log. */
  onRequest: (request: LoggedRequest) => void = () => undefined;

  /** The number of the next request. */
  next(): number {
    this.#seq += 1;
    return this.#seq;
  }

  /** Lets the next request have a number above this one: the ledger knows this one. */
  skipTo(seq: number): void {
    this.#seq = Math.max(this.#seq, seq);
  }

  add(request: LoggedRequest): void {
    this.replay(request);
    this.onKept(request);
    this.onRequest(request);
  }

  /** Adds a request of an earlier run. */
  replay(request: LoggedRequest): void {
    this.log.push(request);
    this.#seq = Math.max(this.#seq, request.seq);
    this.#count(request);
  }

  counts(): readonly Count[] {
    return [...this.#counts.values()];
  }

  clear(): void {
    this.log.clear();
    this.#counts.clear();
    this.#seq = 0;
  }

  kept(): KeptRequests {
    return { lastSeq: this.#seq, counts: this.counts(), lines: this.log.packed() };
  }

  /** Goes on from what an earlier run kept. */
  resume({ lastSeq, counts, lines }: KeptRequests): void {
    this.clear();
    this.log.clear(lines.gone);
    for (const line of linesOf(lines) ?? []) this.log.push(line as LoggedRequest);
    for (const count of counts) this.#counts.set(`${count.method} ${count.path}`, count);
    this.skipTo(lastSeq);
  }

  #count({ method, path: asked, committed }: LoggedRequest): void {
    const known = this.#counts.has(`${method} ${asked}`) || this.#counts.size < mostPaths;
    const path = known ? asked : '(other)';
    const key = `${method} ${path}`;
    const before = this.#counts.get(key) ?? { method, path, requests: 0, commits: 0 };
    const commits = before.commits + (committed ? 1 : 0);
    this.#counts.set(key, { ...before, requests: before.requests + 1, commits });
  }
}
