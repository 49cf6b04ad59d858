import type { Outcome, Read, Request, Service, Snapshot } from '../../../src/engine/ports.ts';
import type { Wire } from '../../../src/hosting/wire/wire.ts';
import { Secret } from '../../../src/base/json.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { settle, VirtualClock } from '../../../src/cli/in-memory/virtual-clock.ts';
import { hostingWith, serviceOf } from './around.ts';

/** Our client and the service in a box, in one process and on one virtual clock. */
export interface Simulated {
  readonly service: Service;
  send(request: Request): Promise<Outcome>;
  /** The items of a list that begins now. */
  look<Item>(read: Read<Item>): Promise<ReadonlyMap<string, Item>>;
  run(ms: number): Promise<void>;
  /** Calls the control surface. */
  control(method: string, path: string, body: object): Promise<void>;
}

const host = '127.0.0.1:8088';

/** Opens the demo account of a simulator with these readings. */
export function simulated(readings: Readonly<Record<string, unknown>>): Simulated {
  const clock = new VirtualClock();
  const simulator = createSimulator({
    clock: 'virtual',
    readings,
    wallNow: () => clock.wall(),
    wait: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
  });
  const wire: Wire = async ({ method, path: url, headers, body, start }) => {
    const no = start();
    if (no !== undefined) return { failed: 'connection', message: no };
    const reply = await simulator.handle({
      method,
      url,
      headers: { ...headers, host },
      ...(body !== undefined && { body }),
    });
    if (reply.kind !== 'answered') return { failed: 'connection', message: reply.kind };
    return { status: reply.status, headers: reply.headers, text: reply.body };
  };
  const settings = { baseUrl: `http://${host}`, token: new Secret('demo-admin'), caBundle: undefined };
  const pace = { accountId: 'acc_demo', pollSeconds: 60, requestsPerSecond: 1000, concurrency: 16 };
  const service = serviceOf(hostingWith({ clock, wire }), { ...settings, ...pace });

  const run = async (ms: number): Promise<void> => {
    await settle();
    for (let left = ms; left > 0; left -= 100) {
      const step = Math.min(left, 100);
      simulator.advance(step);
      await clock.advance(step);
    }
  };
  const awaited = async <Value>(promise: Promise<Value>): Promise<Value> => {
    let done = false;
    void promise.finally(() => (done = true));
    for (let round = 0; round < 600; round += 1) {
      await settle();
      if (done) break;
      await run(100);
    }
    return promise;
  };
  return {
    service,
    run,
    send: (request) => awaited(service.send(request, { urgency: 'edit', mayDispatch: () => undefined })),
    look: async (read) => {
      const since = clock.monotonic();
      service.want(read, since, 'edit');
      let snapshot: Snapshot<never> | undefined;
      for (let round = 0; round < 600; round += 1) {
        await run(100);
        snapshot = service.snapshot(read) as Snapshot<never> | undefined;
        if (snapshot !== undefined && snapshot.begunAt >= since) return snapshot.items;
      }
      throw new Error(`${read.key} was not read: ${service.problem(read)?.message ?? 'no problem'}`);
    },
    control: async (method, path, body) => {
      const headers = { host, 'content-type': 'application/json' };
      const reply = await simulator.handle({ method, url: `/_sim${path}`, headers, body: JSON.stringify(body) });
      if (reply.kind !== 'answered' || reply.status >= 300) throw new Error(`${path}: ${JSON.stringify(reply)}`);
    },
  };
}

/** Readings with a name each, for a title. */
export function named<Reading extends object>(readings: readonly Reading[]) {
  return readings.map((reading) => {
    const changes = Object.entries(reading).map(([name, value]) => `${name}=${value}`);
    return { name: changes.join(' ') || 'the default', reading };
  });
}
