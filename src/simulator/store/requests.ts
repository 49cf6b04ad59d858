import { linesOf, PackedLog, type PackedLines } from './packed-log.ts';

/** A line of the request log: one public request and how it was answered. */
export interface LoggedRequest {
  readonly seq: number;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The HTTP status of the response; 0 if no response was sent. */
  readonly status: number;
  readonly durationMs: number;
  readonly committed: boolean;
  readonly fault?: string;
  /** The fields and parameters of the request that the API does not document. */
  readonly unknownFields?: readonly string[];
}

/** How many requests had this method and path, and how many of them changed something. */
interface RequestCount extends Pick<LoggedRequest, 'method' | 'path'> {
  readonly requests: number;
  readonly commits: number;
}

/** The request log and the request counts in the form in which they are saved on disk. */
export interface KeptRequests {
  readonly counts: readonly RequestCount[];
  readonly lines: PackedLines;
}

/** Keeps the numbered log of public requests, and counts the requests. The counts include requests whose log lines were dropped. */
export class RequestLog {
  readonly log = new PackedLog<LoggedRequest>();
  readonly #counts = new Map<string, RequestCount>();

  /** The number that the next request gets. */
  get nextSeq(): number {
    return this.log.lastSeq + 1;
  }

  add(request: LoggedRequest): void {
    this.log.push(request);
    const { method, path, committed } = request;
    const key = `${method} ${path}`;
    const before = this.#counts.get(key) ?? { method, path, requests: 0, commits: 0 };
    const commits = before.commits + (committed ? 1 : 0);
    this.#counts.set(key, { ...before, requests: before.requests + 1, commits });
  }

  counts(): readonly RequestCount[] {
    return [...this.#counts.values()];
  }

  clear(): void {
    this.log.clear();
    this.#counts.clear();
  }

  kept(): KeptRequests {
    return { counts: this.counts(), lines: this.log.packed() };
  }

  /** Restores the request log that an earlier run of the simulator saved. */
  resume({ counts, lines }: KeptRequests): void {
    this.clear();
    this.log.clear(lines.gone);
    for (const line of linesOf(lines) ?? []) this.log.push(line as LoggedRequest);
    for (const count of counts) this.#counts.set(`${count.method} ${count.path}`, count);
  }
}
