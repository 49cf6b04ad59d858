/** Resources that want one name, in a service that allows each name once. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, messageOf } from '../support/world.ts';

const lifecycle = { adoption: 'ByName' };
const mail = (name: string) => ({ name, email: { addresses: ['a@example.com'] }, lifecycle });

async function aStrictWorld(): Promise<InProcess> {
  const world = await aWorld({ readings: { 'names.contactPoints': 'unique' } });
  world.account({ lifecycle });
  await world.run(10_000);
  return world;
}

/** The most writes to the service in any thirty seconds of the next ten minutes. */
async function mostWrites(world: InProcess): Promise<number> {
  let most = 0;
  for (let part = 0; part < 20; part += 1) {
    const before = world.sent.length;
    await world.run(30_000);
    most = Math.max(most, world.sent.length - before);
  }
  return most;
}

/** Two contact points that each want the name of the other. */
async function swapped() {
  const world = await aStrictWorld();
  world.apply('ContactPoint', 'a', mail('A'));
  world.apply('ContactPoint', 'b', mail('B'));
  await world.run(300_000);

  world.apply('ContactPoint', 'a', mail('B'));
  world.apply('ContactPoint', 'b', mail('A'));
  await world.run(10_000);
  return world;
}

describe('contact points of which each name may be used once', () => {
  it('that swap their names are told who has the name, and are rarely sent again', async () => {
    const world = await swapped();

    expect(conditionOf(world, 'ContactPoint', 'a')).toBe('False/Rejected');
    expect(messageOf(world, 'ContactPoint', 'a')).toContain('of ContactPoint team/b has the name "B"');
    expect(messageOf(world, 'ContactPoint', 'b')).toContain('of ContactPoint team/a has the name "A"');
    expect(await mostWrites(world)).toBeLessThanOrEqual(2);
  });

  it('that all want one name are told who has it, and are rarely sent again', async () => {
    const world = await aStrictWorld();
    const names = ['one', 'two', 'three', 'four', 'five', 'six'];
    for (const name of names) world.apply('ContactPoint', name, mail('wanted'));
    await world.run(300_000);

    const said = names.map((name) => [
      conditionOf(world, 'ContactPoint', name),
      messageOf(world, 'ContactPoint', name),
    ]);

    const owner = names.filter((_name, at) => said[at]?.[0] === 'True/InSync');
    expect(owner).toHaveLength(1);
    const others = said.filter(([condition]) => condition === 'False/Rejected').map(([, message]) => message);
    expect(others).toEqual(
      Array.from({ length: 5 }, () => expect.stringContaining(`of ContactPoint team/${owner[0]} has the name`)),
    );
    expect(await mostWrites(world)).toBeLessThanOrEqual(8);
  });

  it('get the name as soon as a list shows that it is free', async () => {
    const world = await swapped();

    world.apply('ContactPoint', 'b', mail('C'));
    await world.run(120_000);

    expect(conditionOf(world, 'ContactPoint', 'b')).toBe('True/InSync');
    expect(conditionOf(world, 'ContactPoint', 'a')).toBe('True/InSync');
  });

  it('are told who has the name also where the service calls that a conflict', async () => {
    const world = await aStrictWorld();
    world.apply('ContactPoint', 'a', mail('A'));
    world.apply('ContactPoint', 'b', mail('B'));
    await world.run(300_000);
    world.interference = ({ method }) =>
      method === 'GET' ? undefined : { insteadOf: { status: 409, text: '{"error":"taken"}' } };

    world.apply('ContactPoint', 'a', mail('B'));
    await world.run(10_000);

    expect(conditionOf(world, 'ContactPoint', 'a')).toBe('False/Rejected');
    expect(messageOf(world, 'ContactPoint', 'a')).toContain('of ContactPoint team/b has the name "B"');
    expect(await mostWrites(world)).toBeLessThanOrEqual(2);
  });

  it('and that is taken in the console since the last list are told who has it as soon as a list shows it', async () => {
    const world = await aStrictWorld();
    world.account({ lifecycle, pollSeconds: 3_600 });
    world.apply('ContactPoint', 'a', mail('A'));
    await world.run(300_000);
    const body = { accountId: 'acc_demo', name: 'B', type: 'email', config: { addresses: ['b@example.com'] } };
    await world.request('POST', '/contact-point', body);
    const before = world.sent.length;

    world.apply('ContactPoint', 'a', mail('B'));
    await world.run(10_000);

    expect(conditionOf(world, 'ContactPoint', 'a')).toBe('False/Rejected');
    expect(messageOf(world, 'ContactPoint', 'a')).toMatch(/; contact point \S+ has the name "B"$/u);
    await world.run(300_000);
    expect(world.sent.slice(before).filter(({ method }) => method === 'PATCH')).toHaveLength(1);
  });
});
