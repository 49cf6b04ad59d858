import type { Wire } from '../../src/hosting/wire/wire.ts';
import type { Reply } from '../../src/simulator/http/exchange.ts';

/** An answer that somebody between us and the service gives instead. */
export interface Forged {
  readonly status: number;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What happens to one request on its way: before it reaches the service, or to its answer. */
export type Disturbance =
  | 'refuseConnection'
  | 'loseBefore'
  | 'loseAnswer'
  | 'hangBefore'
  | 'hangAfter'
  /** The connection breaks, and the request reaches the service so much later. */
  | { readonly lateMs: number }
  | { readonly insteadOf: Forged }
  /** The service's own answer, told in other words. */
  | { readonly retold: (text: string) => string }
  | { readonly afterwards: Forged };

export type Interference = (request: {
  readonly method: string;
  readonly path: string;
  /** As the service gets it. */
  readonly body: string | undefined;
  readonly count: number;
}) => Disturbance | undefined;

/** Does this to the first requests of one kind, such as `POST /contact-point`: one, unless said. */
export function atFirst(call: string, what: Disturbance | (() => Disturbance), times = 1): Interference {
  const [only, end = ''] = call.split(' ');
  let left = times;
  return ({ method, path }) => {
    if (left === 0 || method !== only || !path.endsWith(end)) return undefined;
    left -= 1;
    return typeof what === 'function' ? what() : what;
  };
}

/** Resolves when nobody waits for the answer any longer. */
export function aborted(signal: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('aborted');
    signal.addEventListener('abort', () => resolve('aborted'), { once: true });
  });
}

/** A connection over which nothing ever comes. */
export async function timedOut(signal: AbortSignal): ReturnType<Wire> {
  await aborted(signal);
  return { failed: 'connection', message: 'timed out' };
}

/** The answer that somebody gives in the service's place. */
export function forged({ status, text = '', headers = {} }: Forged): Awaited<ReturnType<Wire>> {
  return { status, headers, text };
}

/** The same reply with another body. */
export function retold(reply: Reply, tell: (text: string) => string): Reply {
  return reply.kind === 'answered' && reply.body !== '' ? { ...reply, body: tell(reply.body) } : reply;
}

/** What a client sees of the simulator's reply. */
export function received(reply: Reply, signal: AbortSignal): ReturnType<Wire> {
  switch (reply.kind) {
    case 'reset':
    case 'stream':
      return Promise.resolve({ failed: 'connection', message: 'reset' });
    case 'silent':
      return timedOut(signal);
    case 'answered': {
      if (reply.truncate !== undefined) return Promise.resolve({ failed: 'connection', message: 'cut off' });
      if (reply.hugeBody !== undefined) return Promise.resolve({ failed: 'connection', message: 'too large' });
      return Promise.resolve({ status: reply.status, headers: reply.headers, text: reply.body });
    }
  }
}
