import { describe, expect, it } from 'vitest';
import { eventually } from './support/kubernetes.ts';
import { aSpoiledStage } from './support/stages/spoiled-stage.ts';

/* What the service does to the calls of some namespaces is nothing to the others. */

const mail = { email: { addresses: ['ops@example.com'] } };
/** Together the hung ones have more calls under way than there are workers, with the default budget of four each. */
const workers = 6;
const hungTenants = 2;
const underWay = 4 * hungTenants;

// A hung call is given up later than the tests wait for anything.
const stage = aSpoiledStage('cluster-wide', '--call-deadline-seconds', '300', '--workers', String(workers));

describe('a namespace goes on', () => {
  it('beside some whose service takes their POSTs and answers none', async () => {
    const { proxy, aTenant } = stage();
    const quiet = await aTenant();
    const hung = await Promise.all(Array.from({ length: hungTenants }, () => aTenant()));
    let [taken, given] = [0, 0];
    const accounts = new Set(hung.map(({ accountId }) => accountId));
    proxy.spoil = (method, _path, body) => {
      const { accountId } = method === 'POST' ? (JSON.parse(body) as { accountId: string }) : { accountId: '' };
      if (!accounts.has(accountId)) return undefined;
      return async ({ socket }) => {
        taken += 1;
        socket.on('close', () => (given += 1));
      };
    };
    const names = Array.from({ length: 8 }, (_, nth) => `hung-${nth}`);
    await Promise.all(hung.flatMap((tenant) => names.map((name) => tenant.apply('ContactPoint', name, mail))));
    await eventually('as many calls hang as the budgets allow', async () => taken >= underWay);

    await quiet.apply('ContactPoint', 'beside', mail);
    await quiet.becomes('ContactPoint', 'beside', 'True/InSync');

    // All of them hung all the while.
    expect([taken, given]).toEqual([underWay, 0]);
    expect(underWay).toBeGreaterThan(workers);
  });
});
