import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../src/base/json.ts';
import type { Outcome, Service } from '../../src/engine/ports.ts';
import { contactPointsOf, postContactPoint } from '../../src/hosting/requests.ts';
import { startSimulator, type Listening } from '../../src/simulator/start.ts';
import { type Spoil, spoilingProxy, spoils, type SpoilingProxy } from '../scenarios/support/spoiling-proxy.ts';
import { eventually, realEntropy, SkippedTime } from '../support/real-time.ts';
import { hostingWith, serviceOf } from './support/around.ts';

/* Our client, a proxy that spoils answers, and the service, on real sockets; what the service has is the judge. */

const callDeadlineMs = 30_000;
const clock = new SkippedTime();

/** The ways in which the service is never asked. */
const undone = ['droppedBefore', 'pageBefore', 'redirected', 'unauthorized', 'throttled'];
/** The ways that only the deadline ends. */
const hanging = ['unanswered', 'aByteASecond'];

/** This way, and the deadline of whoever asked is over as soon as the service has done it. */
function thenLate(spoil: Spoil): Spoil {
  return ({ forward, ...spoiling }) =>
    spoil({
      ...spoiling,
      forward: async () => {
        const reply = await forward();
        clock.skip(callDeadlineMs);
        return reply;
      },
    });
}

let simulator: Listening;
let proxy: SpoilingProxy;
let service: Service;

beforeAll(async () => {
  simulator = await startSimulator();
  proxy = await spoilingProxy(simulator.url);
  const pace = { accountId: 'acc_demo', pollSeconds: 60, requestsPerSecond: 1_000, concurrency: 32 };
  const settings = { baseUrl: proxy.url, token: new Secret('demo-admin'), caBundle: undefined };
  service = serviceOf(hostingWith({ callDeadlineMs, clock, entropy: realEntropy }), { ...settings, ...pace });
});

afterAll(async () => {
  await service.close();
  await proxy.close();
  await simulator.close();
});

/** The names of the contact points that the service has. */
async function there(): Promise<readonly string[]> {
  const headers = { authorization: 'demo-admin' };
  const answer = await fetch(`${simulator.url}/api/public/v1/contact-points?accountId=acc_demo`, { headers });
  const { contactPoints } = (await answer.json()) as { contactPoints: readonly { readonly name: string }[] };
  return contactPoints.map(({ name }) => name).toSorted();
}

async function created(name: string): Promise<Outcome> {
  const config = { addresses: ['a@example.com'] };
  const request = postContactPoint({ accountId: 'acc_demo', name, type: 'email', config });
  return service.send(request, { urgency: 'edit', mayDispatch: () => undefined });
}

describe.each(Object.entries(spoils))('an answer that is spoiled: %s', (name, way) => {
  const spoil = hanging.includes(name) ? thenLate(way) : way;

  it('is never taken for something else than what happened, and leads nowhere else', async () => {
    proxy.spoil = (method) => (method === 'POST' ? spoil : undefined);

    const outcome = await created(name);

    const known = { committed: 1, refused: 0, notExecuted: 0, notSent: 0 }[outcome.is as string];
    const count = (await there()).filter((one) => one === name).length;
    expect(known ?? count, `${outcome.is}`).toBe(count);
    expect(count).toBe(undone.includes(name) ? 0 : 1);
    expect(proxy.trapped).toEqual([]);
  });

  it('keeps a list from being taken for a whole one, and the next one is', async () => {
    const read = contactPointsOf('acc_demo');
    const before = service.snapshot(read)?.begunAt ?? 0;
    let spoiled = 0;
    proxy.spoil = () => (spoiled++ === 0 ? spoil : undefined);

    service.want(read, clock.monotonic(), 'edit');
    await eventually('a whole list has come', () => {
      // The pause before the next try need not be waited for.
      clock.skip(100);
      return (service.snapshot(read)?.begunAt ?? 0) > before;
    });

    const listed = [...(service.snapshot(read)?.items.values() ?? [])].map((point) => point.name).toSorted();
    expect(listed).toEqual(await there());
    expect(spoiled).toBeGreaterThan(0);
  });
});
