import { Agent, request } from 'undici';
import { printed, startProgram, type Running } from './running.ts';

/** One commit of the service. */
interface Commit {
  readonly seq: number;
  readonly kind: string;
  readonly id: string;
  readonly accountId: string;
  /** The public request that led to it; null for what the service does by itself. */
  readonly requestSeq: number | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** One public request as the service saw it. */
interface Seen {
  readonly seq: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly committed: boolean;
}

/** The simulator as a process of its own. */
export interface HostingService extends Running {
  readonly url: string;
  /** Its host and port, as accounts pin it. */
  readonly endpoint: string;
  /** Calls the control surface. */
  readonly control: (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) => Promise<unknown>;
  /** Calls the public interface, as somebody else does. */
  readonly call: (
    token: string,
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ) => Promise<unknown>;
  readonly ledger: () => Promise<readonly Commit[]>;
  readonly requests: (after?: number) => Promise<readonly Seen[]>;
}

/** Starts a simulator on a free port. */
export async function startHostingService(...args: readonly string[]): Promise<HostingService> {
  const running = startProgram(['simulator', '--listen', '127.0.0.1:0', ...args]);
  const [, url = ''] = await printed(running, /simulator listening on (\S+)/);
  const agent = new Agent();
  const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown, token?: string) => {
    const answer = await request(`${url}${path}`, {
      method,
      dispatcher: agent,
      signal: AbortSignal.timeout(60_000),
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: token }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  };
  const items = async <Item>(path: string) => ((await ask('GET', path)) as { items: readonly Item[] }).items;
  return {
    ...running,
    url,
    endpoint: new URL(url).host,
    control: (method, path, body) => ask(method, `/_sim${path}`, body),
    call: (token, method, path, body) => ask(method, `/api/public/v1${path}`, body, token),
    ledger: () => items<Commit>('/_sim/ledger'),
    requests: (after = 0) => items<Seen>(`/_sim/requests?after=${after}`),
    end: async () => {
      await agent.destroy();
      await running.end();
    },
  };
}
