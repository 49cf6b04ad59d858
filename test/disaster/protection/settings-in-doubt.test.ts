import { internalOf } from '../../kinds/support/world.ts';
/** Settings whose answer was lost: what was written down says what was sent, and not what the spec says by now. */
import { describe, expect, it } from 'vitest';
import { InProcess } from '../../support/in-process.ts';
import { aProtectedWorld, aProtection, committed, conditionOf, disaster, edit } from '../support.ts';

const kind = 'DisasterProtection';

/** Sets the environment up as somebody with a browser would. */
async function byHand(world: InProcess, more: object): Promise<void> {
  const item = {
    sourceAppEnvId: 'env_db_prod',
    requestId: 'by-hand',
    expectedGeneration: 0,
    destinationRegion: 'us-east',
  };
  const { body } = await world.request('POST', '/disaster-readiness/configure', {
    accountId: 'acc_demo',
    common: {},
    items: [{ ...item, mode: 'cold', target: { envName: 'hand', appName: 'hand', createNewApp: true }, ...more }],
  });
  expect(body).toMatchObject({ items: [{ success: true }] });
}

/** A world with the environment of the demo database as an AppEnvironment. */
async function anUnprotectedWorld(): Promise<InProcess> {
  const world = new InProcess();
  await world.start();
  world.account();
  await world.run(2_000);
  world.apply('AppEnvironment', 'db', { externalId: 'env_db_prod' });
  await world.run(5_000);
  return world;
}

function specOf(lifecycle: object): object {
  const { environmentRef: _id, ...rest } = aProtection;
  return { ...rest, environmentRef: { name: 'db' }, lifecycle };
}

describe('a protection whose setting up was lost', () => {
  it('does not take over what somebody else set up meanwhile, where adoption is Never', async () => {
    const world = await anUnprotectedWorld();
    let count = 0;
    world.interference = ({ path }) =>
      path === `${disaster}/configure` && (count += 1) === 1 ? 'loseBefore' : undefined;
    world.apply(kind, 'orders', specOf({ adoption: 'Never' }));
    await world.run(3_000);
    await byHand(world, { rtoTargetMs: 7_200_000 });
    await world.run(300_000);

    expect(await committed(world, 'configuration.edited')).toBe(0);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/AdoptionNotAllowed');
  });

  it.each([{}, { 'dr.disclosed': 'minimal' }])(
    'takes over what it set up itself, whatever is said of adoption: %j',
    async (readings) => {
      const world = await anUnprotectedWorld();
      await world.control('PATCH', '/readings', readings);
      let count = 0;
      world.interference = ({ path }) =>
        path === `${disaster}/configure` && (count += 1) === 1 ? 'loseAnswer' : undefined;
      world.apply(kind, 'orders', specOf({ adoption: 'Never' }));
      await world.run(900_000);

      expect(count).toBe(1);
      expect(internalOf(world, kind, 'orders')['ownership']).toBe('Created');
      expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/InSync');
    },
  );
});

describe('an edit while an earlier one is in doubt', () => {
  it.each([
    ['loseBefore', {}],
    ['loseAnswer', {}],
    ['loseBefore', { 'dr.disclosed': 'minimal' }],
    ['loseAnswer', { 'dr.disclosed': 'minimal' }],
  ] as const)('reaches the service, too, where drift is only reported: %s, %j', async (what, readings) => {
    const world = await aProtectedWorld({ readings }, { lifecycle: { drift: 'Report' } });
    let count = 0;
    world.interference = ({ path }) => (path === `${disaster}/configure` && (count += 1) === 1 ? what : undefined);
    edit(world, { rtoTargetSeconds: 3_600 });
    await world.run(3_000);
    edit(world, { rtoTargetSeconds: 7_200 });
    await world.run(900_000);

    const held = JSON.stringify(await world.control('GET', '/world'));
    expect(/"rtoTargetMs":(\d+)/.exec(held)?.[1]).toBe('7200000');
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/InSync');
  });
});
