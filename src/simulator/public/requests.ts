import { Log } from '../store/ledger.ts';

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
  /** What was sent although the interface does not name it. */
  readonly unknownFields?: readonly string[];
}

interface Count {
  readonly method: string;
  readonly path: string;
  readonly requests: number;
  readonly commits: number;
}

const logLength = 100_000;
const mostPaths = 1000;

/** What was asked: the last requests, and counts that never forget. */
export class RequestLog {
  readonly log = new Log<LoggedRequest>(logLength);
  readonly #counts = new Map<string, Count>();
  onRequest: (request: LoggedRequest) => void = () => undefined;

  add(request: LoggedRequest): void {
    this.log.push(request);
    const known = this.#counts.has(`${request.method} ${request.path}`) || this.#counts.size < mostPaths;
    const path = known ? request.path : '(other)';
    const key = `${request.method} ${path}`;
    const before = this.#counts.get(key) ?? { method: request.method, path, requests: 0, commits: 0 };
    const commits = before.commits + (request.committed ? 1 : 0);
    this.#counts.set(key, { ...before, requests: before.requests + 1, commits });
    this.onRequest(request);
  }

  counts(): readonly Count[] {
    return [...this.#counts.values()];
  }

  clear(): void {
    this.log.clear();
    this.#counts.clear();
  }
}
