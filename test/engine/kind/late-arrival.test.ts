/** A change whose answer was lost may reach the service after a newer one, and no read shows what it then holds. */
import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, messageOf } from '../../kinds/support/world.ts';
import type { InProcess } from '../../support/in-process.ts';

const mail = (address: string) => ({ email: { addresses: [address] } });

async function heldByService(world: InProcess): Promise<unknown> {
  const { collections } = (await world.control('GET', '/world')) as {
    collections: { contactPoints: readonly { name: string; config: { addresses?: readonly string[] } }[] };
  };
  return collections.contactPoints.find(({ name }) => name === 'on-call')?.config.addresses;
}

/** A contact point whose change to `old@` breaks off and arrives 60 s later, while a change to `new@` is answered at once. */
async function overtaken(): Promise<InProcess> {
  const world = await aWorld();
  world.apply('ContactPoint', 'on-call', mail('first@example.com'));
  await world.run(10_000);
  world.interference = ({ method, body = '' }) =>
    method === 'PATCH' && body.includes('old@') ? { lateMs: 60_000 } : undefined;
  world.apply('ContactPoint', 'on-call', mail('old@example.com'));
  await world.run(1_000);
  world.apply('ContactPoint', 'on-call', mail('new@example.com'));
  await world.run(10_000);
  return world;
}

describe('a change of what no read shows, overtaken by a newer one', () => {
  it('does not stay in the service', async () => {
    const world = await overtaken();

    await world.run(900_000);

    expect(await heldByService(world)).toEqual(['new@example.com']);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });

  it('is told as long as it may still arrive', async () => {
    const world = await overtaken();

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('False/InDoubt');
    expect(messageOf(world, 'ContactPoint', 'on-call')).toMatch(/addresses.* sends the newest values again/u);
  });

  it('costs one more call, and none once that is answered', async () => {
    const world = await overtaken();
    const before = world.sent.length;

    await world.run(900_000);
    await world.run(900_000);

    expect(world.sent.slice(before).filter(({ method }) => method !== 'GET')).toHaveLength(1);
  });

  it('is sent over also by the process after the one that lost its answer', async () => {
    const world = await overtaken();

    await world.crash();
    await world.run(900_000);

    expect(await heldByService(world)).toEqual(['new@example.com']);
  });

  it('is not sent again when it said the same as the newest', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail('first@example.com'));
    await world.run(10_000);
    let count = 0;
    world.interference = ({ method }) => (method === 'PATCH' && count++ === 0 ? 'loseAnswer' : undefined);

    world.apply('ContactPoint', 'on-call', mail('new@example.com'));
    await world.run(900_000);

    expect(count).toBe(2);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });
});

describe('a change that arrives after a list was read, and whose answer is lost', () => {
  it('is looked for by a list that began after that, and not sent again', async () => {
    const world = await aWorld();
    world.account({ pollSeconds: 10 });
    world.apply('ContactPoint', 'on-call', { name: 'first', ...mail('first@example.com') });
    await world.run(60_000);
    await world.control('POST', '/faults', { match: { method: 'PATCH', count: 1 }, effect: { delayMs: 25_000 } });
    world.interference = ({ method }) => (method === 'PATCH' ? 'loseAnswer' : undefined);

    world.apply('ContactPoint', 'on-call', { name: 'second', ...mail('first@example.com') });
    await world.run(300_000);

    expect(world.sent.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });
});
