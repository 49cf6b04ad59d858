import { expect } from 'vitest';

import type { Reply } from '../../src/simulator/http/exchange.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';

/** JSON of any shape, read with optional steps. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies whose shape is what they test
export type Json = any;

/** What came back, as a test looks at it. */
export interface Seen {
  readonly kind: Reply['kind'];
  readonly status: number;
  readonly body: Json;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A simulator on a virtual clock, with short words for what tests do. */
export interface Box {
  readonly simulator: Simulator;
  readonly get: (path: string, token?: string) => Promise<Seen>;
  readonly post: (path: string, body: unknown, token?: string) => Promise<Seen>;
  readonly patch: (path: string, body: unknown, token?: string) => Promise<Seen>;
  readonly remove: (path: string, token?: string) => Promise<Seen>;
  /** The control surface. */
  readonly control: (method: string, path: string, body?: unknown) => Promise<Seen>;
  readonly readings: (changes: Readonly<Record<string, unknown>>) => Promise<Seen>;
  readonly advance: (ms: number) => void;
  /** The kinds of the ledger, oldest first. */
  readonly ledger: () => readonly string[];
  readonly raw: (request: Parameters<Simulator['handle']>[0]) => Promise<Seen>;
}

/** Starts a simulator for a test, which fails on an internal error of it, and on a refused request that changes something. */
export function box(options: SimulatorOptions = {}): Box {
  const simulator = createSimulator({ clock: 'virtual', wait: () => Promise.resolve(), log: fail, ...options });
  const raw = async (request: Parameters<Simulator['handle']>[0]) => {
    const before = worldOf(simulator);
    // A request is handled in this very call: what comes at the same time does not count.
    const handling = simulator.handle(request);
    const after = worldOf(simulator);
    const answer = seen(await handling);
    const isStruck = after.faults !== before.faults;
    if (answer.status >= 400 && leavesNothing(request) && !isStruck) expect(after.rest, answer.text).toBe(before.rest);
    return answer;
  };
  const call = (method: string) => (path: string, body: unknown, token: string) =>
    raw({
      method,
      url: `/api/public/v1${path}`,
      headers: { authorization: token, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const control = (method: string, path: string, body?: unknown) =>
    raw({
      method,
      url: `/_sim${path}`,
      headers: { host: 'localhost:8088' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    simulator,
    raw,
    control,
    get: (path, token = 'demo-admin') => call('GET')(path, undefined, token),
    post: (path, body, token = 'demo-admin') => call('POST')(path, body, token),
    patch: (path, body, token = 'demo-admin') => call('PATCH')(path, body, token),
    remove: (path, token = 'demo-admin') => call('DELETE')(path, undefined, token),
    readings: (changes) => control('PATCH', '/readings', changes),
    advance: (ms) => simulator.advance(ms),
    ledger: () => simulator.store.ledger.after(0).map(({ kind }) => kind),
  };
}

/** What the simulator logs should not happen: the test fails on it. */
function fail(line: string): never {
  throw new Error(line);
}

/** Whether a refusal of this request changes nothing: the deletion of an app that has begun and a reset that fenced its work say so. */
function leavesNothing({ method, url }: Parameters<Simulator['handle']>[0]): boolean {
  const [path = ''] = url.split('?');
  const leavesMarks = ['DELETE /api/public/v1/app', 'POST /api/public/v1/disaster-readiness/reset'];
  return path.startsWith('/api/') && !leavesMarks.includes(`${method} ${path}`);
}

/** The faults of a world, which the requests that meet them use up, and everything else in it. */
function worldOf({ store }: Simulator): { readonly faults: string; readonly rest: string } {
  const { collections, ...head } = store.head();
  const { faults, ...others } = collections;
  return { faults: JSON.stringify(faults), rest: JSON.stringify({ ...head, ...others }) };
}

function seen(reply: Reply): Seen {
  if (reply.kind !== 'answered') return { kind: reply.kind, status: 0, body: undefined, text: '', headers: {} };
  return {
    kind: reply.kind,
    status: reply.status,
    body: parsed(reply.body),
    text: reply.body,
    headers: reply.headers,
  };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A contact point of the demo account; returns its id. */
export async function contactPoint(on: Box, name = 'On call'): Promise<string> {
  const config = { addresses: ['on-call@example.com'] };
  const made = await on.post('/contact-point', { accountId: 'acc_demo', name, type: 'email', config });
  return made.body.contactPoint.contactPointId;
}

/** The smallest alert on an environment that delivers to some contact point. */
export async function alertBody(on: Box, changes: object = {}): Promise<Json> {
  const contactPointIds = [await contactPoint(on)];
  const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' };
  return { appEnvId: 'env_web_prod', name: 'busy', ...rule, contactPointIds, ...changes };
}

/** An alert; returns its id. */
export async function alert(on: Box, changes: object = {}): Promise<string> {
  const made = await on.post('/app-env/alert', await alertBody(on, changes));
  return made.body.alert.alertId;
}
