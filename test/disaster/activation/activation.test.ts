import { describe, expect, it } from 'vitest';
import type { Disturbance } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import {
  anActivation,
  aProtectedWorld,
  aProtection,
  committed,
  conditionOf,
  type ProtectionStatus,
  sentenceOf,
  statusOf,
  target,
} from '../support.ts';

const kind = 'RecoveryActivation';
const activate = '/api/public/v1/disaster-readiness/activate';

/** Disturbs the first so many calls of the activation. */
function disturb(world: InProcess, what: Disturbance, times = 1): { readonly seen: () => number } {
  let seen = 0;
  world.interference = ({ method, path }) => {
    if (method !== 'POST' || path !== activate) return undefined;
    seen += 1;
    return seen <= times ? what : undefined;
  };
  return { seen: () => seen };
}

async function activations(world: InProcess): Promise<number> {
  return committed(world, 'activation.accepted');
}

describe('an activation', () => {
  it('is not repeated by deleting and applying it again, at any moment', async () => {
    for (const after of [1_000, 4_000, 20_000, 60_000, 600_000]) {
      const world = await aProtectedWorld();
      const spec = anActivation(world);
      world.apply(kind, 'now', spec);
      await world.run(after);
      world.delete(kind, 'now');
      world.apply(kind, 'now', spec);
      world.apply(kind, 'again', spec);
      await world.run(900_000);

      expect(await activations(world)).toBe(1);
    }
  });

  it('is recognised at once when it has just come to its end', async () => {
    const world = await aProtectedWorld();
    const spec = anActivation(world);
    world.apply(kind, 'now', spec);
    while (conditionOf(world, kind, 'now', 'Succeeded') !== 'True/Succeeded') await world.run(500);
    world.delete('DisasterProtection', 'orders');
    world.delete(kind, 'now');
    world.apply('DisasterProtection', 'orders', aProtection);
    await world.run(1_000);

    world.apply(kind, 'again', spec);
    await world.run(60_000);

    expect(await activations(world)).toBe(1);
    expect(conditionOf(world, kind, 'again', 'Succeeded')).toBe('True/Succeeded');
  });

  it('happens once when two resources ask for different targets at the same time', async () => {
    const world = await aProtectedWorld();
    disturb(world, 'loseBefore', 1);
    world.apply(kind, 'one', anActivation(world));
    world.apply(kind, 'two', anActivation(world, { target: { ...target, environmentName: 'elsewhere' } }));

    await world.run(900_000);

    expect(await activations(world)).toBe(1);
    const ends = ['one', 'two'].map((name) => conditionOf(world, kind, name, 'Succeeded'));
    expect(ends.toSorted((a = '', b = '') => a.localeCompare(b))).toEqual(['False/AlreadyActivated', 'True/Succeeded']);
  });

  it('is not sent again when somebody discarded it while its answer was lost', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = statusOf<ProtectionStatus>(world, 'DisasterProtection', 'orders');
    world.interference = ({ method, path }) => {
      if (method !== 'POST' || path !== activate) return undefined;
      world.kill();
      return 'loseAnswer';
    };
    world.apply(kind, 'now', anActivation(world));
    await world.run(5_000);
    await world.control('PATCH', `/configurations/${configurationId}`, { setPhase: 'failed' });
    world.interference = () => undefined;
    await world.crash();
    await world.run(900_000);

    expect(await activations(world)).toBe(1);
    expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('False/OperationFailed');
  });
});

describe('the power to activate', () => {
  it('is off unless it was given, and giving it later executes nothing old', async () => {
    const world = await aProtectedWorld({ powers: { activation: false, accountReset: false } });
    world.apply(kind, 'now', anActivation(world));
    await world.run(30_000);
    expect(conditionOf(world, kind, 'now', 'Accepted')).toBe('False/ActivationDisabled');

    world.kill();
    world.apply(kind, 'while-away', anActivation(world));
    world.powers = { activation: true, accountReset: false };
    await world.run(5_000);
    await world.crash();
    await world.run(300_000);

    expect(await activations(world)).toBe(0);
    expect(conditionOf(world, kind, 'while-away', 'Accepted')).toBe('False/ActivationDisabled');
    expect(sentenceOf(world, kind, 'while-away')).toMatch(
      /this request is never sent; to send the request now, create a new resource; if .*, first correct the clock and restart the operator$/,
    );

    const { spec } = world.get(kind, 'while-away') as { spec: object };
    world.delete(kind, 'while-away');
    world.apply(kind, 'while-away', spec);
    await world.run(300_000);
    expect(conditionOf(world, kind, 'while-away', 'Succeeded')).toBe('True/Succeeded');
    expect(await activations(world)).toBe(1);
  });

  it('reaches what an operator with it has written down before it died', async () => {
    const world = await aProtectedWorld();
    world.interference = ({ path }) => {
      if (!path.endsWith('/activate')) return undefined;
      world.kill();
      return 'loseBefore';
    };
    world.apply(kind, 'now', anActivation(world));
    await world.run(5_000);
    world.interference = () => undefined;
    await world.crash();
    await world.run(600_000);

    expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('True/Succeeded');
    expect(await activations(world)).toBe(1);
  });

  it('is not used by an account that is only observed, and the request is not ready', async () => {
    const world = await aProtectedWorld();
    world.account({ lifecycle: { managementPolicy: 'Observe' } });
    world.apply(kind, 'now', anActivation(world));
    await world.run(60_000);

    expect(await activations(world)).toBe(0);
    expect(conditionOf(world, kind, 'now', 'Ready')).toBe('False/Observed');
  });
});

describe('the clocks', () => {
  it.each([
    ['Kubernetes is two minutes ahead', { clusterMs: 120_000 }],
    ['the service is two minutes behind', { serviceMs: -120_000 }],
    ['this machine was set back by an hour', { clusterMs: 1_800_000, serviceMs: 1_800_000 }],
  ])('hold everything back while %s', async (_because, ahead) => {
    const world = await aProtectedWorld();
    const spec = anActivation(world);
    Object.assign(world.ahead, ahead);
    world.apply(kind, 'now', spec);
    await world.run(120_000);

    expect(await activations(world)).toBe(0);
    expect(conditionOf(world, kind, 'now', 'Ready')).toBe('False/ClockUnsure');

    Object.assign(world.ahead, { clusterMs: 0, serviceMs: 0 });
    await world.run(600_000);
    expect(await activations(world)).toBe(1);
  });
});

describe('the object itself', () => {
  it('is read live before anything is sent: deleted in between, nothing is', async () => {
    const world = await aProtectedWorld();
    world.apply(kind, 'now', anActivation(world));
    let deleted = false;
    world.interference = ({ method, path }) => {
      if (
        method === 'GET' &&
        path.endsWith('/points') &&
        !deleted &&
        statusOf<{ internal?: { journal?: object } }>(world, kind, 'now').internal?.journal
      ) {
        deleted = true;
        world.delete(kind, 'now');
      }
      return undefined;
    };
    await world.run(300_000);

    expect(deleted).toBe(true);
    expect(await activations(world)).toBe(0);
  });
});
