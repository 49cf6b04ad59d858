import { describe, expect, it } from 'vitest';
import { aWorld } from '../../kinds/support/world.ts';
import type { InProcess } from '../../support/in-process.ts';

const mail = { email: { addresses: ['a@example.com'] } };

/** An account whose service never answers a creation, with as many of them wanted as it may have under way and more. */
async function hanging(): Promise<InProcess> {
  const world = await aWorld();
  world.account({ budget: { requestsPerSecond: 200, concurrency: 64 } });
  world.account({}, 'other');
  world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin-no-secrets' }, 'other');
  await world.run(5_000);
  world.interference = ({ method, body = '' }) =>
    method === 'POST' && body.includes('hung-') ? 'hangAfter' : undefined;
  for (let n = 0; n < 300; n += 1) world.apply('ContactPoint', `hung-${n}`, mail);
  await world.run(2_000);
  return world;
}

describe('an account whose service hangs', () => {
  it('does not hold up another account', async () => {
    const world = await hanging();

    world.apply('ContactPoint', 'fine', mail, {}, 'other');
    await world.run(1_000);

    expect(world.get('ContactPoint', 'fine', 'other')?.status).toHaveProperty('externalId');
  });

  it('does not hold up an edit of an object that needs no new call of it', async () => {
    const world = await hanging();

    world.apply('ContactPoint', 'fine', mail, {}, 'other');
    world.apply('ContactPoint', 'wrong', { ...mail, accountRef: { name: 'nobody' } }, {}, 'other');
    await world.run(10_000);

    expect(world.get('ContactPoint', 'wrong', 'other')?.status).toHaveProperty('conditions');
  });
});
