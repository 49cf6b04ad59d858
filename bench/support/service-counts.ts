import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

/** The requests that the service received. */
export interface ServiceCount {
  readonly reads: number;
  readonly writes: number;
  /** Refreshes of alert states, which change nothing. */
  readonly refreshes: number;
}

/** One public request in the simulator's log. */
export interface SeenRequest {
  readonly seq: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** When it arrived, in ms since the epoch. */
  readonly arrivedAt: number;
}

const token = 'demo-admin';

/** The simulator as a benchmark sees it: its counts, its log, and what somebody else does in it. */
export class ServiceCounts {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Returns the requests since the simulator started. */
  async counts(): Promise<ServiceCount> {
    const { items } = (await this.control('GET', '/counts')) as {
      items: readonly { method: string; path: string; requests: number }[];
    };
    const sum = (wanted: (method: string, path: string) => boolean) =>
      items.reduce((total, item) => (wanted(item.method, item.path) ? total + item.requests : total), 0);
    const isRefresh = (path: string) => path === '/alert/refresh';
    return {
      reads: sum((method) => method === 'GET'),
      writes: sum((method, path) => method !== 'GET' && !isRefresh(path)),
      refreshes: sum((_method, path) => isRefresh(path)),
    };
  }

  /** The requests after one, oldest first. */
  async requestsAfter(seq: number): Promise<readonly SeenRequest[]> {
    const { items } = (await this.control('GET', `/requests?after=${seq}`)) as {
      items: readonly { seq: number; at: string; method: string; path: string; status: number; durationMs: number }[];
    };
    return items.map(({ at, durationMs, ...rest }) => ({ ...rest, arrivedAt: Date.parse(at) - durationMs }));
  }

  /** The next change of an object of this path, such as `/alert`, after a request. */
  async changeAfter(seq: number, path: string): Promise<SeenRequest> {
    let seen = seq;
    for (let tries = 0; tries < 600; tries += 1) {
      await sleep(100);
      const requests = await this.requestsAfter(seen);
      const call = requests.find((one) => one.method === 'PATCH' && one.path.endsWith(path));
      if (call !== undefined) return call;
      seen = requests.at(-1)?.seq ?? seen;
    }
    throw new Error('a change of a spec led to no call within a minute');
  }

  /** Commits of one kind, such as `alert.created`, since the simulator started. */
  async commits(kind: string): Promise<readonly string[]> {
    const { items } = (await this.control('GET', '/ledger')) as { items: readonly { kind: string; id: string }[] };
    return items.filter((commit) => commit.kind === kind).map(({ id }) => id);
  }

  /** When one object was changed, in ms since the epoch, oldest first. */
  async changesOf(id: string, kind = 'alert.updated'): Promise<readonly number[]> {
    const { items } = (await this.control('GET', '/ledger')) as {
      items: readonly { kind: string; id: string; at: string }[];
    };
    return items.filter((commit) => commit.id === id && commit.kind === kind).map(({ at }) => Date.parse(at));
  }

  async control(method: 'GET' | 'POST' | 'PATCH', path: string, content?: unknown): Promise<unknown> {
    return this.#ask(method, `/_sim${path}`, content, {});
  }

  /** Calls the public interface as a colleague does. */
  async call(method: 'GET' | 'POST' | 'PATCH', path: string, content?: unknown): Promise<unknown> {
    return this.#ask(method, `/api/public/v1${path}`, content, { authorization: token });
  }

  async #ask(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    content: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<unknown> {
    const { statusCode, body } = await request(`${this.#url}${path}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(60_000),
      body: content === undefined ? null : JSON.stringify(content),
    });
    const text = await body.text();
    if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${text.slice(0, 200)}`);
    return text === '' ? undefined : JSON.parse(text);
  }
}
