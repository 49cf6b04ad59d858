import { describe, expect, it } from 'vitest';
import { eventually } from './support/kubernetes.ts';
import { aSpoiledStage } from './support/stages/spoiled-stage.ts';
import { spoils, type SpoilingProxy } from './support/spoiling-proxy.ts';

/* What lies between the operator and the service spoils the answers, on real sockets; the ledger of the service is the judge. */

const email = { email: { addresses: ['ops@example.com'] } };
const names = Object.keys(spoils);
const stage = aSpoiledStage('namespaced', '--horizon-seconds', '5');

const count = 60;
/** As many as a storm meets before it ends. */
const enough = 3;

/** So many are spoiled at the same time for certain: the first ones wait for each other. */
const atOnce = 12;
const together = Promise.withResolvers<void>();

/** The contact points whose first request was spoiled. */
const met = new Set<string>();

/** The ways in which they were spoiled. */
const ways = new Set<string>();

/** What all other requests meet once half of the contact points met their own, one storm after the other. */
const storms = [
  { way: 'throttled', left: enough },
  { way: 'unauthorized', left: enough },
];

/**
 * The first request to create each contact point is spoiled, in a way of its own. Meanwhile everything else meets two storms, of
 * answers of 429 and of 401.
 */
function everythingAtOnce(): SpoilingProxy['spoil'] {
  return (method, _path, body) => {
    const [, nth] = /"name":"cp-(\d+)"/u.exec(body) ?? [];
    if (method === 'POST' && nth !== undefined && !met.has(nth)) {
      met.add(nth);
      if (met.size === atOnce) together.resolve();
      const name = names[Number(nth) % names.length] ?? '';
      return async (spoiling) => {
        await together.promise;
        ways.add(name);
        await spoils[name]?.(spoiling);
      };
    }
    if (met.size < count / 2) return undefined;
    const storm = storms.find(({ left }) => left > 0);
    if (storm !== undefined) storm.left -= 1;
    return storm?.way;
  };
}

describe('sixty answers that are spoiled at once, each on a resource of its own', () => {
  it('neither double nor lose anything, and lead nowhere else', async () => {
    const { proxy, aTenant } = stage();
    const tenant = await aTenant({ pollSeconds: 10, budget: { requestsPerSecond: 100, concurrency: 50 } });
    const all = Array.from({ length: count }, (_, n) => n);

    proxy.spoil = everythingAtOnce();
    await Promise.all(all.map((n) => tenant.apply('ContactPoint', `cp-${n}`, email)));
    await eventually('the storms are over', async () => storms.every(({ left }) => left === 0), 200_000);
    // An account whose token was refused is read rarely; whoever mended it asks for a look.
    await tenant.lookAt('HostingAccount', 'default');
    await eventually('each met its own', async () => met.size === count, 200_000);
    proxy.spoil = () => undefined;
    // What looks like a refusal of the service is asked for again by whoever mended the proxy.
    const ask = (n: number, token: string) =>
      tenant.apply('ContactPoint', `cp-${n}`, email, { 'apphosting.dev/reconcile-at': token });
    await Promise.all(all.map((n) => ask(n, 'mended')));

    for (const n of all) {
      let asked = 0;
      const isMade = async (): Promise<boolean> => {
        const ready = await tenant.condition('ContactPoint', `cp-${n}`, 'Ready');
        // A call that was under way when the proxy was mended may have been refused after that.
        if (ready?.reason === 'Rejected') await ask(n, `mended ${(asked += 1)}`);
        return ready?.status === 'True';
      };
      await eventually(`cp-${n} is made`, isMade, 200_000);
    }
    expect(names.every((name) => ways.has(name))).toBe(true);
    expect(await tenant.commits('contactPoint.created')).toBe(count);
    expect((await tenant.contactPoints()).map(({ name }) => name).toSorted()).toEqual(
      all.map((n) => `cp-${n}`).toSorted(),
    );
    expect(proxy.trapped).toEqual([]);
    expect(await tenant.everythingWritten()).not.toContain(tenant.token);
  });
});
