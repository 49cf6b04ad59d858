import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf } from '../../kinds/support/world.ts';

const spec = { email: { addresses: ['a@example.com'] } };
const others = { name: 'on-call', type: 'email', config: { addresses: ['b@example.com'] } };
const isPost = ({ method }: { readonly method: string }) => method === 'POST';

const rows: readonly {
  because: string;
  holdUp: (world: InProcess) => Promise<void>;
  goOn: (world: InProcess) => void;
}[] = [
  {
    because: 'its call could not be sent',
    holdUp: async (world) => {
      world.interference = (request) => (isPost(request) ? 'refuseConnection' : undefined);
      world.apply('ContactPoint', 'on-call', spec);
      await world.run(10_000);
    },
    goOn: () => undefined,
  },
  {
    because: 'it was paused while it waited for the list',
    holdUp: async (world) => {
      world.interference = (request) => (isPost(request) ? undefined : 'refuseConnection');
      world.apply('ContactPoint', 'on-call', spec);
      await world.run(1_000);
      world.apply('ContactPoint', 'on-call', spec, { 'apphosting.dev/paused': 'true' });
      await world.run(1_000);
      world.interference = () => undefined;
      await world.run(60_000);
    },
    goOn: (world) => world.apply('ContactPoint', 'on-call', spec),
  },
];

describe('a creation that was held up', () => {
  it.each(rows)('looks anew, and makes nothing beside what is there by then: $because', async ({ holdUp, goOn }) => {
    const world = await aWorld();
    world.account({ pollSeconds: 3600 });
    await world.run(5_000);
    await holdUp(world);
    world.interference = () => undefined;
    await world.request('POST', '/contact-point', { accountId: 'acc_demo', ...others });

    goOn(world);
    await world.run(60_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('False/AlreadyExists');
    expect((await world.ledger()).filter(({ kind }) => kind === 'contactPoint.created')).toHaveLength(1);
  });
});
