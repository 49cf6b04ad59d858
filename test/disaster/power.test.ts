/** From when on the power to activate reaches an object: creation times have whole seconds, and the process does not begin at one. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import { anActivation, aProtectedWorld, committed, conditionOf } from './support.ts';

const kind = 'RecoveryActivation';

/** A world in which an operator with the power follows one without it, 300 ms after a whole second, at which `before` is done. */
async function empowered(before: (world: InProcess) => void, options: object = {}): Promise<InProcess> {
  const world = await aProtectedWorld({ powers: { activation: false, accountReset: false }, ...options });
  await world.run(1_000 - (world.clock.wall() % 1_000));
  world.kill();
  before(world);
  await world.run(300);
  world.powers = { activation: true, accountReset: false };
  await world.crash();
  return world;
}

describe('an activation that is created within the second in which the power begins', () => {
  it('is refused when it was there before the operator', async () => {
    const world = await empowered((early) => early.apply(kind, 'older', anActivation(early)));
    await world.run(60_000);

    expect(world.clock.wall() % 1_000).toBe(300);
    expect(conditionOf(world, kind, 'older', 'Accepted')).toBe('False/ActivationDisabled');
    expect(await committed(world, 'activation.accepted')).toBe(0);
  });

  it('is carried out when it came after it', async () => {
    const world = await empowered(() => undefined);
    world.apply(kind, 'younger', anActivation(world));
    await world.run(900_000);

    expect(conditionOf(world, kind, 'younger', 'Succeeded')).toBe('True/Succeeded');
    expect(await committed(world, 'activation.accepted')).toBe(1);
  });

  it('is refused when the operator sees only some objects, and may have been shown an old one', async () => {
    const world = await empowered(() => undefined, { selector: 'team!=nobody' });
    world.apply(kind, 'younger', anActivation(world));
    await world.run(60_000);

    expect(conditionOf(world, kind, 'younger', 'Accepted')).toBe('False/ActivationDisabled');
  });

  it('is refused when the cluster went back in time and may have brought up an old one', async () => {
    const world = await empowered(() => undefined);
    world.operator.rewound();
    world.apply(kind, 'younger', anActivation(world));
    await world.run(300_000);

    expect(conditionOf(world, kind, 'younger', 'Accepted')).toBe('False/ActivationDisabled');
  });
});
